import { UserError } from "../../core/failure.ts";
import type { Rng } from "../../core/random.ts";
import type { PerSecond } from "../../core/units.ts";
import { gammaGap } from "./gamma.ts";

export const RAMP_STRATEGIES = ["linear", "exponential"] as const;

export interface Ramp {
  readonly strategy: (typeof RAMP_STRATEGIES)[number];
  readonly start: PerSecond;
  readonly end: PerSecond;
}

export function checkRamp(ramp: Ramp): void {
  const { strategy, start, end } = ramp;
  if (!(start >= 0 && end >= 0 && start < Infinity && end < Infinity))
    throw new UserError("--ramp-up-start-rps and --ramp-up-end-rps must be 0 or more");
  if (start > end) throw new UserError(`--ramp-up-start-rps ${start} is above --ramp-up-end-rps ${end}`);
  if (strategy === "exponential" && start === 0)
    throw new UserError("an exponential ramp cannot start at 0 requests/s", {
      hint: "give --ramp-up-start-rps above 0, or use --ramp-up-strategy linear",
    });
  if (end === 0) throw new UserError("--ramp-up-end-rps must be above 0");
}

/** The rate of the i-th gap (i = 1…n−1), with p = i/max(n−1, 1): linear s+(e−s)p, exponential s·(e/s)^p (COMPAT B). */
export function rampRate(ramp: Ramp, i: number, n: number): PerSecond {
  const p = i / Math.max(n - 1, 1);
  return ramp.strategy === "linear"
    ? ramp.start + (ramp.end - ramp.start) * p
    : ramp.start * (ramp.end / ramp.start) ** p;
}

/** N arrivals, the first at 0; gap i precedes request i. Ramps are not normalised. */
export function rampArrivals(n: number, ramp: Ramp, burstiness: number, rng: Rng): Float64Array {
  const offsets = new Float64Array(n);
  for (let i = 1; i < n; i++) {
    offsets[i] = (offsets[i - 1] as number) + gammaGap(rampRate(ramp, i, n), burstiness, rng);
  }
  return offsets;
}
