/** The plan's dependencies in flat arrays: who waits for whom. */
import { IndexColumn, NumberColumn } from "../core/column.ts";
import type { Plan } from "../plan/plan.ts";
import { scheduleAt } from "../plan/planned-requests.ts";
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
    for (let i = 0; i < n; i++) {
      const { index, release } = scheduleAt(plan.requests, i);
      if (index !== i) throw new Error(`plan: request ${i} says it is ${index}`);
      if (release.kind !== "after") continue;
      const { parents } = release;
      if (parents.length === 0) throw new Error(`plan: request ${i} is released after nothing`);
      this.parentCount[i] = parents.length;
      edges += parents.length;
      for (const parent of parents) {
        if (!(parent >= 0 && parent < n)) throw new Error(`plan: request ${i} has no parent ${parent}`);
        this.childStart[parent + 1] = (this.childStart[parent + 1] as number) + 1;
      }
    }
    for (let i = 0; i < n; i++) {
      this.childStart[i + 1] = (this.childStart[i + 1] as number) + (this.childStart[i] as number);
    }
    this.children = new Uint32Array(edges);
    const next = this.childStart.slice();
    for (let i = 0; i < n; i++) {
      if (this.parentCount[i] === 0) continue;
      const { release } = scheduleAt(plan.requests, i);
      for (const parent of release.kind === "after" ? release.parents : []) {
        const at = next[parent] as number;
        this.children[at] = i;
        next[parent] = at + 1;
      }
    }
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
  const indices = new IndexColumn();
  const dues = new NumberColumn();
  for (let index = 0; index < plan.requests.length; index++) {
    const { release } = scheduleAt(plan.requests, index);
    if (release.kind !== "at") continue;
    indices.push(index);
    dues.push(release.offset_ms);
  }
  return { indices: Uint32Array.from(indices.values()), dues: dues.values() };
}
