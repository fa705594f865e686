/**
 * Time that moves only when told to: a whole run on it takes no real time and has exact numbers. Timers run in order
 * of (due, registration); between two instants pending microtasks are drained, so promise-based code works on it too.
 */
import type { Clock, Timer } from "./clock.ts";
import { TimerHeap } from "./timer-heap.ts";
import type { Ms } from "./units.ts";

export class VirtualClock implements Clock {
  #now: Ms;
  #timers = new TimerHeap();
  readonly #wallAtZero: Ms;

  /** `wallAtZero`: the Unix time (ms) that monotonic 0 stands for. */
  constructor(start: Ms = 0, wallAtZero: Ms = Date.UTC(2026, 0, 1)) {
    this.#now = start;
    this.#wallAtZero = wallAtZero;
  }

  now(): Ms {
    return this.#now;
  }

  wall(): Ms {
    return this.#wallAtZero + this.#now;
  }

  at(due: Ms, run: () => void): Timer {
    return this.#timers.add(Math.max(due, this.#now), run);
  }

  cancel(timer: Timer): void {
    timer.cancelled = true;
  }

  poll(_now: Ms): void {
    // On virtual time nothing is ever late: timers run in `run`.
  }

  /** Runs timers in order until none is left or `until` is reached; returns the instant reached. */
  async run(until: Ms = Infinity): Promise<Ms> {
    await drainMicrotasks();
    for (;;) {
      const due = this.#timers.nextDue();
      if (due === null || due > until) break;
      this.#now = Math.max(this.#now, due);
      // All timers of one instant, then one drain: cheap, and still in order.
      for (
        let timer = this.#timers.takeDue(this.#now);
        timer !== null;
        timer = this.#timers.takeDue(this.#now)
      ) {
        timer.run();
      }
      await drainMicrotasks();
    }
    if (until !== Infinity) this.#now = Math.max(this.#now, until);
    return this.#now;
  }

  /** Runs timers until `done` settles. Throws if no timer is left while `done` is pending: the run hangs. */
  async runUntil<T>(done: Promise<T>): Promise<T> {
    let settled = false;
    const mark = (): void => {
      settled = true;
    };
    done.then(mark, mark);
    for (;;) {
      if (settled) break;
      await drainMicrotasks();
      const due = this.#timers.nextDue();
      if (settled) break;
      if (due === null) {
        // Real I/O (a file write) may still be under way: give it a chance, then call it a hang.
        await new Promise<void>((resolve) => setTimeout(resolve, 20));
        if (!settled && this.#timers.nextDue() === null) {
          throw new Error("virtual clock: nothing is scheduled and the awaited work has not ended");
        }
        continue;
      }
      await this.run(due);
    }
    return done;
  }
}

async function drainMicrotasks(): Promise<void> {
  // A chain of a few awaits is common (async generators); eight turns cover those of this code base.
  for (let i = 0; i < 8; i++) await Promise.resolve();
}
