/**
 * One time line for several threads. Each thread's `performance.now()` counts from its own start, and its `timeOrigin` is
 * the wall clock of that instant, which may have been set in between. CLOCK_MONOTONIC is the same for all of them.
 */
import type { Ms } from "./units.ts";

const PAIRS = 500;

/** CLOCK_MONOTONIC minus this thread's `performance.now()`, ms; constant while the thread lives, to a fraction of 1 µs. */
export function monotonicOffset(): Ms {
  let best = Infinity;
  let offset = 0;
  for (let pair = 0; pair < PAIRS; pair++) {
    const before = performance.now();
    const monotonic = Number(process.hrtime.bigint()) / 1e6;
    const after = performance.now();
    // The narrowest pair: a pause between the two readings only ever widens one.
    if (after - before >= best) continue;
    best = after - before;
    offset = monotonic - (before + after) / 2;
  }
  return offset;
}
