/** How far the jobs of one run have got: which turns wait for whom, what an end releases, what a failure skips. */
import type { Ms } from "../core/units.ts";
import type { Plan } from "../plan/plan.ts";
import { scheduleAt, turnsAt } from "../plan/planned-requests.ts";
import { PlanGraph } from "./plan-graph.ts";

export class Dependencies {
  readonly #plan: Plan;
  readonly #graph: PlanGraph;
  /** Turns that go by time and are skipped if a turn they need has failed, by that turn. */
  readonly #timedChildren = new Map<number, number[]>();
  /** Parents that have not ended yet. */
  readonly #waitingFor: Uint32Array;
  /** Parents that have not been sent yet. */
  readonly #unsentParents: Uint32Array;
  /** Latest end of the parents that have ended. */
  readonly #parentEnd: Float64Array;
  /** 1 for a turn that a failure above it has taken out. */
  readonly #skipped: Uint8Array;
  /** Turns that are not over, by job. */
  readonly #left: Uint32Array;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#graph = new PlanGraph(plan);
    this.#waitingFor = this.#graph.parentCount.slice();
    this.#unsentParents = this.#graph.parentCount.slice();
    this.#parentEnd = new Float64Array(plan.requests.length);
    this.#skipped = new Uint8Array(plan.requests.length);
    for (let index = 0; index < plan.requests.length; index++) {
      const { release } = scheduleAt(plan.requests, index);
      if (release.kind !== "at") continue;
      for (const parent of release.needs ?? []) {
        const children = this.#timedChildren.get(parent);
        if (children === undefined) this.#timedChildren.set(parent, [index]);
        else children.push(index);
      }
    }
    this.#left = new Uint32Array(plan.jobs.length);
    for (let job = 0; job < this.#left.length; job++) this.#left[job] = turnsAt(plan.jobs, job);
  }

  /** Tells of each child whose parents have now all been sent, with its think time: it is worth preparing. */
  sent(index: number, worthPreparing: (child: number, think: Ms) => void): void {
    for (const child of this.#graph.childrenOf(index)) {
      const unsent = (this.#unsentParents[child] as number) - 1;
      this.#unsentParents[child] = unsent;
      if (unsent === 0) worthPreparing(child, this.#think(child));
    }
  }

  /** A turn ended well: tells of each child that has waited for it alone, with its intended time. */
  ended(index: number, end: Ms, release: (child: number, intended: Ms) => void): void {
    for (const child of this.#graph.childrenOf(index)) {
      if (this.#skipped[child] === 1) continue;
      const intended = this.#parentEnded(child, end);
      if (intended !== null) release(child, intended);
    }
  }

  /**
   * A turn failed: tells of each of its descendants once, nearest first. Their intended time is `null` where the ends
   * of their parents do not tell it. Branches that do not descend from it go on. A descendant that goes by time may have been
   * sent already (`begun`): it is let be, and its own descendants are skipped all the same.
   */
  failed(
    index: number,
    end: Ms,
    begun: (descendant: number) => boolean,
    skip: (descendant: number, intended: Ms | null) => void,
  ): void {
    const seen = new Set<number>();
    const open: { index: number; end: Ms | null }[] = [{ index, end }];
    // The list grows while it is walked: breadth first, without recursion (chains can be long).
    for (const parent of open) {
      for (const child of this.#graph.childrenOf(parent.index)) {
        if (this.#skipped[child] === 1) continue;
        const intended = parent.end === null ? null : this.#parentEnded(child, parent.end);
        this.#skipped[child] = 1;
        skip(child, intended);
        open.push({ index: child, end: null });
      }
      for (const child of this.#timedChildren.get(parent.index) ?? []) {
        if (this.#skipped[child] === 1 || seen.has(child)) continue;
        seen.add(child);
        if (!begun(child)) {
          this.#skipped[child] = 1;
          skip(child, null);
        }
        open.push({ index: child, end: null });
      }
    }
  }

  /** A turn is over, however it went. True if it was its job's last. */
  leave(job: number): boolean {
    const left = (this.#left[job] as number) - 1;
    this.#left[job] = left;
    return left === 0;
  }

  /** The child's intended time if this was its last parent, else `null`. */
  #parentEnded(child: number, end: Ms): Ms | null {
    this.#parentEnd[child] = Math.max(this.#parentEnd[child] as Ms, end);
    const left = (this.#waitingFor[child] as number) - 1;
    this.#waitingFor[child] = left;
    return left === 0 ? (this.#parentEnd[child] as Ms) + this.#think(child) : null;
  }

  #think(index: number): Ms {
    const { release } = scheduleAt(this.#plan.requests, index);
    return release.kind === "after" ? release.think_ms : 0;
  }
}
