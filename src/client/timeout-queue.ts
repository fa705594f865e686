/**
 * One timer for all requests of a client: since their time limits are equal, they end in the order in which they began. A
 * request that is done leaves at once, so that nothing of it stays in memory until its limit would have come.
 */
import type { Clock, Timer } from "../core/clock.ts";
import type { Ms } from "../core/units.ts";

export interface Expiring {
  expire(at: Ms): void;
}

export class TimeoutQueue {
  readonly #clock: Clock;
  readonly #limit: Ms;
  /** Insertion order is order of deadline. */
  readonly #deadlines = new Map<Expiring, Ms>();
  #timer: Timer | null = null;

  constructor(clock: Clock, limit: Ms) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** An endless limit takes no timer. */
  add(item: Expiring, now: Ms): void {
    if (this.#limit === Infinity) return;
    this.#deadlines.set(item, now + this.#limit);
    if (this.#timer === null) this.#arm(now + this.#limit);
  }

  delete(item: Expiring): void {
    this.#deadlines.delete(item);
  }

  /** Without this a timer may stay until the last request's limit would have come. */
  close(): void {
    this.#deadlines.clear();
    if (this.#timer !== null) this.#clock.cancel(this.#timer);
    this.#timer = null;
  }

  /** A timer that fires too early for the first in line costs one look; arming anew for each request would cost more. */
  #arm(due: Ms): void {
    this.#timer = this.#clock.at(due, () => {
      this.#timer = null;
      const now = this.#clock.now();
      for (const [item, deadline] of this.#deadlines) {
        if (deadline > now) {
          this.#arm(deadline);
          return;
        }
        this.#deadlines.delete(item);
        item.expire(now);
      }
    });
  }
}
