/** Arrivals of a trace as numbers: rate, burstiness, and whether a clock rounded them. */
import { describeSamples, type Distribution } from "../core/quantile.ts";
import type { Ms, PerSecond } from "../core/units.ts";

export interface Arrivals {
  /** Requests with a time. */
  readonly n: number;
  readonly first_ms: Ms;
  readonly span_ms: Ms;
  /** (n − 1) ÷ span; `null` where all came at once. */
  readonly rate_per_s: PerSecond | null;
  /** Gaps between neighbours, ms. */
  readonly gap_ms: Distribution;
  /** Coefficient of variation of the gaps: 1 = Poisson, more = bursts; `null` below 2 gaps or without a span. */
  readonly cv: number | null;
  /** Different instants, and the most requests at one. */
  readonly distinct: number;
  readonly largest_burst: number;
  /** Whether some times are no whole milliseconds. */
  readonly fractional: boolean;
  /** The step the times were rounded to (see below); `null` where none shows. */
  readonly quantum_ms: Ms | null;
}

/** Describes arrival times (any order); `null` without any. */
export function describeArrivals(times: readonly Ms[]): Arrivals | null {
  const sorted = Float64Array.from(times).sort();
  const n = sorted.length;
  if (n === 0) return null;
  const first_ms = sorted[0] as number;
  const span_ms = (sorted[n - 1] as number) - first_ms;
  const gaps = new Float64Array(n - 1);
  let [distinct, burst, largest_burst] = [1, 1, 1];
  for (let i = 1; i < n; i++) {
    const gap = (sorted[i] as number) - (sorted[i - 1] as number);
    gaps[i - 1] = gap;
    if (gap > 0) {
      distinct++;
      burst = 0;
    }
    burst++;
    largest_burst = Math.max(largest_burst, burst);
  }
  const gap_ms = describeSamples(gaps);
  return {
    n,
    first_ms,
    span_ms,
    rate_per_s: span_ms > 0 ? ((n - 1) * 1000) / span_ms : null,
    gap_ms,
    cv: n > 2 && span_ms > 0 ? (gap_ms.std as number) / (gap_ms.mean as number) : null,
    distinct,
    largest_burst,
    fractional: sorted.some((time) => !Number.isInteger(time)),
    quantum_ms: quantumOf(gaps, n, distinct),
  };
}

/** What a first arrival that was read as ms is likelier to be: a Unix time (of 2001 to 2096) in another unit. */
export interface EpochUnit {
  readonly name: "seconds" | "microseconds" | "nanoseconds";
  /** `--speed` that sets it right. */
  readonly speed: number;
}

/** `null` for an offset and for a Unix time in ms. */
export function epochUnit(first: Ms): EpochUnit | null {
  const units = [
    { name: "seconds", speed: 0.001 },
    { name: "microseconds", speed: 1000 },
    { name: "nanoseconds", speed: 1_000_000 },
  ] as const;
  return units.find(({ speed }) => first >= 1e12 * speed && first < 4e12 * speed) ?? null;
}

/** Below this many requests a common step is chance. */
const ENOUGH = 50;

/**
 * Times are called rounded when all gaps are multiples of one step of a second or more; or when requests pile up (at
 * most half as many instants as requests) and nearly all gaps between instants are multiples, to 0.5 %, of their median
 * (a clock that ticks every 3 s may be read a millisecond early or late).
 */
function quantumOf(gaps: Float64Array, n: number, distinct: number): Ms | null {
  if (n < ENOUGH || distinct < 3) return null;
  const positive = gaps.filter((gap) => gap > 0).sort();
  let step = 0;
  for (const gap of positive) {
    if (!Number.isInteger(gap)) step = 1;
    if (step === 1) break;
    step = greatestCommonDivisor(step, gap);
  }
  if (step >= 1000) return step;
  const median = positive[positive.length >> 1] as number;
  if (distinct * 2 > n || median < 100) return null;
  let off = 0;
  for (const gap of positive) {
    const steps = Math.max(1, Math.round(gap / median));
    if (Math.abs(gap - steps * median) > 0.005 * steps * median) off++;
  }
  return off <= positive.length / 100 ? median : null;
}

function greatestCommonDivisor(a: number, b: number): number {
  let [x, y] = [a, b];
  while (y !== 0) [x, y] = [y, x % y];
  return x;
}
