/** The plan's dependencies in flat arrays: who waits for whom. */
import type { Plan } from "../plan/plan.ts";
import type { KnownDues } from "./release-queue.ts";

export class PlanGraph {
  /** Children of request i: `children[childStart[i] .. childStart[i+1])`. */
  readonly childStart: Uint32Array;
  readonly children: Uint32Array;
  /** Number of parents, by request. */
  readonly parentCount: Uint32Array;

  /** Throws on a plan that breaks its own contract (a bug of whoever made it): bad indices, self-parents, cycles. */
  constructor(plan: Plan) {
    const n = plan.requests.length;
    this.childStart = new Uint32Array(n + 1);
    this.parentCount = new Uint32Array(n);
    let edges = 0;
    plan.requests.forEach((request, i) => {
      if (request.index !== i) throw new Error(`plan: request ${i} says it is ${request.index}`);
      if (request.release.kind !== "after") return;
      const { parents } = request.release;
      if (parents.length === 0) throw new Error(`plan: request ${i} is released after nothing`);
      this.parentCount[i] = parents.length;
      edges += parents.length;
      for (const parent of parents) {
        if (!(parent >= 0 && parent < n)) throw new Error(`plan: request ${i} has no parent ${parent}`);
        this.childStart[parent + 1] = (this.childStart[parent + 1] as number) + 1;
      }
    });
    for (let i = 0; i < n; i++) {
      this.childStart[i + 1] = (this.childStart[i + 1] as number) + (this.childStart[i] as number);
    }
    this.children = new Uint32Array(edges);
    const next = this.childStart.slice();
    plan.requests.forEach((request, i) => {
      if (request.release.kind !== "after") return;
      for (const parent of request.release.parents) {
        const at = next[parent] as number;
        this.children[at] = i;
        next[parent] = at + 1;
      }
    });
    this.#refuseCycles(n);
  }

  childrenOf(index: number): Uint32Array {
    return this.children.subarray(this.childStart[index], this.childStart[index + 1]);
  }

  #refuseCycles(n: number): void {
    const waiting = this.parentCount.slice();
    const stack: number[] = [];
    for (let i = 0; i < n; i++) if (waiting[i] === 0) stack.push(i);
    let reached = 0;
    for (let i = stack.pop(); i !== undefined; i = stack.pop()) {
      reached++;
      for (const child of this.childrenOf(i)) {
        const left = (waiting[child] as number) - 1;
        waiting[child] = left;
        if (left === 0) stack.push(child);
      }
    }
    if (reached < n) throw new Error("plan: some requests wait for each other");
  }
}

/** Requests that are released by time. */
export function knownDues(plan: Plan): KnownDues {
  let n = 0;
  for (const { release } of plan.requests) if (release.kind === "at") n++;
  const indices = new Uint32Array(n);
  const dues = new Float64Array(n);
  let k = 0;
  for (const { index, release } of plan.requests) {
    if (release.kind !== "at") continue;
    indices[k] = index;
    dues[k++] = release.offset_ms;
  }
  return { indices, dues };
}
