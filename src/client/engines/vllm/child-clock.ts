/**
 * Another process's monotonic clock on ours, by question and answer: the narrowest of several round trips bounds the error by half
 * its length, whatever each system calls monotonic.
 */
import type { Clock } from "../../../core/clock.ts";
import type { Ms } from "../../../core/units.ts";

const ROUNDS = 40;

export interface ChildClock {
  /** Its reading in ns, as an instant of our clock. */
  toOurs(ns: number): Ms;
  /** At most so far off. */
  readonly error_ms: Ms;
}

export interface Reading {
  /** The child's clock, ns. */
  readonly ns: number;
  /** When the answer was read, on our clock. */
  readonly at: Ms;
}

export async function anchorChildClock(
  clock: Clock,
  ask: () => Promise<Reading>,
  rounds: number = ROUNDS,
): Promise<ChildClock> {
  let error = Infinity;
  let offset = 0;
  for (let round = 0; round < rounds; round++) {
    const asked = clock.now();
    const { ns, at } = await ask();
    const half = (at - asked) / 2;
    if (half >= error) continue;
    error = half;
    offset = asked + half - ns / 1e6;
  }
  return { toOurs: (ns) => ns / 1e6 + offset, error_ms: error };
}
