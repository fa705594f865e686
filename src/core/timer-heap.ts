/** A binary heap of timers ordered by (due, order of registration). Cancelled timers are dropped when they surface. */
import type { Timer } from "./clock.ts";
import type { Ms } from "./units.ts";

interface Entry extends Timer {
  readonly order: number;
}

export class TimerHeap {
  #heap: Entry[] = [];
  #order = 0;

  add(due: Ms, run: () => void): Timer {
    const entry: Entry = { due, run, cancelled: false, order: this.#order++ };
    const heap = this.#heap;
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const up = (at - 1) >> 1;
      const parent = heap[up] as Entry;
      if (before(parent, entry)) break;
      heap[at] = parent;
      at = up;
    }
    heap[at] = entry;
    return entry;
  }

  /** The earliest live timer's due, or `null`. */
  nextDue(): Ms | null {
    this.#dropCancelled();
    return this.#heap[0]?.due ?? null;
  }

  /** Takes the earliest live timer off the heap if it is due by `now`. */
  takeDue(now: Ms): Timer | null {
    this.#dropCancelled();
    const first = this.#heap[0];
    if (first === undefined || first.due > now) return null;
    this.#removeFirst();
    return first;
  }

  #dropCancelled(): void {
    while (this.#heap[0]?.cancelled === true) this.#removeFirst();
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop() as Entry;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      const right = heap[child + 1];
      if (right !== undefined && before(right, heap[child] as Entry)) child++;
      const below = heap[child] as Entry;
      if (before(last, below)) break;
      heap[at] = below;
      at = child;
    }
    heap[at] = last;
  }
}

function before(a: Entry, b: Entry): boolean {
  return a.due < b.due || (a.due === b.due && a.order < b.order);
}
