/**
 * The only source of time. Real runs use {@link RealClock}; tests and in-process simulation use `VirtualClock`
 * (virtual-clock.ts), on which a whole run has exact numbers.
 */
import type { Ms } from "./units.ts";

/** A callback registered with {@link Clock.at}; hand it to {@link Clock.cancel}. */
export interface Timer {
  readonly due: Ms;
  cancelled: boolean;
  readonly run: () => void;
}

export interface Clock {
  /** Monotonic now. The origin is arbitrary: only differences mean something. */
  now(): Ms;
  /** Unix time of this instant, ms. For labels and for anchoring a run to the calendar; never for a latency. */
  wall(): Ms;
  /**
   * Runs `run` at `due` (monotonic, absolute) or as soon after as can be, never before. Equal `due`s run in the
   * order of registration. A `due` in the past runs soon, never inside this call.
   */
  at(due: Ms, run: () => void): Timer;
  cancel(timer: Timer): void;
  /**
   * Runs what is due at `now`. Read callbacks of hot loops call this, so that a send is punctual even while the
   * loop is busy with received bytes. Cheap when nothing is due.
   */
  poll(now: Ms): void;
}

/** A promise that resolves at `due`. For code off the hot path. */
export function sleepUntil(clock: Clock, due: Ms, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const onAbort = (): void => {
      clock.cancel(timer);
      reject(signal?.reason as Error);
    };
    const timer = clock.at(due, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** A promise that resolves `ms` from now. For code off the hot path. */
export function sleep(clock: Clock, ms: Ms, signal?: AbortSignal): Promise<void> {
  return sleepUntil(clock, clock.now() + ms, signal);
}
