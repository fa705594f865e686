/**
 * What is to happen when, in order of (due, index): a run's planned times, sorted once and walked by a cursor, merged
 * with a heap of those that became known while it ran. Peek and pop cost O(1) for the former, O(log n) for the latter,
 * and nothing is allocated per request.
 */
import type { Ms } from "../core/units.ts";

/** Parallel arrays: `indices[k]` is due at `dues[k]`. */
export interface KnownDues {
  readonly indices: Uint32Array;
  readonly dues: Float64Array;
}

export class ReleaseQueue {
  readonly #planned: Uint32Array;
  readonly #plannedDue: Float64Array;
  #cursor = 0;
  #heap: number[] = [];
  #heapDue: Ms[] = [];

  /** `planned`: what is due when is known from the start, in any order. */
  constructor(planned: KnownDues = { indices: new Uint32Array(0), dues: new Float64Array(0) }) {
    const { indices, dues } = isSorted(planned) ? planned : sorted(planned);
    this.#planned = indices;
    this.#plannedDue = dues;
  }

  get size(): number {
    return this.#planned.length - this.#cursor + this.#heap.length;
  }

  push(index: number, due: Ms): void {
    const heap = this.#heap;
    const dues = this.#heapDue;
    let at = heap.length;
    heap.push(index);
    dues.push(due);
    while (at > 0) {
      const up = (at - 1) >> 1;
      if (before(dues[up] as Ms, heap[up] as number, due, index)) break;
      heap[at] = heap[up] as number;
      dues[at] = dues[up] as Ms;
      at = up;
    }
    heap[at] = index;
    dues[at] = due;
  }

  /** Due of the first; Infinity when empty. */
  nextDue(): Ms {
    return Math.min(this.#plannedDue[this.#cursor] ?? Infinity, this.#heapDue[0] ?? Infinity);
  }

  /** Index of the first; −1 when empty. */
  peek(): number {
    if (this.size === 0) return -1;
    return this.#fromHeap() ? (this.#heap[0] as number) : (this.#planned[this.#cursor] as number);
  }

  /** Takes the first off; −1 when empty. */
  pop(): number {
    if (this.size === 0) return -1;
    if (!this.#fromHeap()) return this.#planned[this.#cursor++] as number;
    const first = this.#heap[0] as number;
    this.#removeFirst();
    return first;
  }

  /** Everything left, in order. Empties the queue. */
  drain(): { index: number; due: Ms }[] {
    const all: { index: number; due: Ms }[] = [];
    while (this.size > 0) {
      const due = this.nextDue();
      all.push({ index: this.pop(), due });
    }
    return all;
  }

  #fromHeap(): boolean {
    if (this.#heap.length === 0) return false;
    if (this.#cursor >= this.#planned.length) return true;
    return before(
      this.#heapDue[0] as Ms,
      this.#heap[0] as number,
      this.#plannedDue[this.#cursor] as Ms,
      this.#planned[this.#cursor] as number,
    );
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const dues = this.#heapDue;
    const last = heap.pop() as number;
    const lastDue = dues.pop() as Ms;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      const right = child + 1;
      if (
        right < heap.length &&
        before(dues[right] as Ms, heap[right] as number, dues[child] as Ms, heap[child] as number)
      )
        child = right;
      if (before(lastDue, last, dues[child] as Ms, heap[child] as number)) break;
      heap[at] = heap[child] as number;
      dues[at] = dues[child] as Ms;
      at = child;
    }
    heap[at] = last;
    dues[at] = lastDue;
  }
}

function before(aDue: Ms, a: number, bDue: Ms, b: number): boolean {
  return aDue < bDue || (aDue === bDue && a < b);
}

function isSorted({ indices, dues }: KnownDues): boolean {
  for (let k = 1; k < indices.length; k++) {
    if (!before(dues[k - 1] as Ms, indices[k - 1] as number, dues[k] as Ms, indices[k] as number))
      return false;
  }
  return true;
}

function sorted({ indices, dues }: KnownDues): KnownDues {
  const order = Uint32Array.from(indices, (_, k) => k).sort(
    (a, b) => (dues[a] as Ms) - (dues[b] as Ms) || (indices[a] as number) - (indices[b] as number),
  );
  return {
    indices: order.map((k) => indices[k] as number),
    dues: Float64Array.from(order, (k) => dues[k] as Ms),
  };
}
