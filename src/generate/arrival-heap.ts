/** Requests of overlapping jobs, handed out in order of arrival: only what is still to come is held. */
import type { Ms } from "../core/units.ts";
import type { TraceRequest } from "../trace/trace-request.ts";

export class ArrivalHeap {
  readonly #heap: { readonly request: TraceRequest; readonly order: number }[] = [];
  #order = 0;

  push(request: TraceRequest): void {
    const entry = { request, order: this.#order++ };
    const heap = this.#heap;
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const up = (at - 1) >> 1;
      if (!this.#before(at, up)) break;
      this.#swap(at, up);
      at = up;
    }
  }

  /** Takes the earliest request off if it arrives before `due`; equal arrivals come in the order they were pushed. */
  takeBefore(due: Ms): TraceRequest | null {
    const heap = this.#heap;
    const first = heap[0];
    if (first === undefined || (first.request.arrival_ms ?? 0) >= due) return null;
    this.#swap(0, heap.length - 1);
    heap.pop();
    for (let at = 0; ;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && this.#before(child + 1, child)) child++;
      if (!this.#before(child, at)) break;
      this.#swap(child, at);
      at = child;
    }
    return first.request;
  }

  #before(a: number, b: number): boolean {
    const [left, right] = [this.#heap[a], this.#heap[b]];
    if (left === undefined || right === undefined) return false;
    return (
      (left.request.arrival_ms ?? 0) - (right.request.arrival_ms ?? 0) < 0 ||
      (left.request.arrival_ms === right.request.arrival_ms && left.order < right.order)
    );
  }

  #swap(a: number, b: number): void {
    const heap = this.#heap;
    const kept = heap[a];
    const other = heap[b];
    if (kept === undefined || other === undefined) return;
    heap[a] = other;
    heap[b] = kept;
  }
}
