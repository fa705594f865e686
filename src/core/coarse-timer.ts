/** Timers for housekeeping: late by a millisecond or more, and in return nothing spins while they wait (see real-clock.ts). */
import type { Ms } from "./units.ts";

export interface CoarseTimer {
  cancel(): void;
}

/** Runs `run` about `ms` from now. Does not keep the process alive. */
export function startCoarseTimer(ms: Ms, run: () => void): CoarseTimer {
  const timer = setTimeout(run, ms);
  timer.unref();
  return { cancel: () => clearTimeout(timer) };
}

/** A monotonic reading for such timers; any origin. */
export function coarseNow(): Ms {
  return performance.now();
}
