/**
 * Slots of a concurrency cap. Each remembers since when it has been free, so that the wait for a slot (the server's
 * doing) and the lateness of the one who fills it (our own) are told apart: granted = max(intended, free since).
 */
import type { Ms } from "../core/units.ts";
import { ReleaseQueue } from "./release-queue.ts";

export class SlotPool {
  readonly cap: number;
  readonly #free = new ReleaseQueue();
  #untouched: number;

  /** `null` = no cap: always a slot, free since the start. */
  constructor(cap: number | null) {
    this.cap = cap ?? Infinity;
    this.#untouched = this.cap;
  }

  get available(): boolean {
    return this.#untouched > 0 || this.#free.size > 0;
  }

  /** Takes the slot that has been free longest; returns since when (0 = since the start). */
  take(): Ms {
    if (this.#untouched > 0) {
      this.#untouched--;
      return 0;
    }
    const since = this.#free.nextDue();
    if (this.#free.pop() === -1) throw new Error("no slot is free");
    return since;
  }

  /** Gives one back, free since `at`. */
  give(at: Ms): void {
    if (this.cap === Infinity) this.#untouched++;
    else this.#free.push(0, at);
  }
}
