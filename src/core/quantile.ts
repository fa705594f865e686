/**
 * Exact distributions. A percentile interpolates linearly between order statistics, as numpy's default does
 * (Hyndman & Fan type 7): position (n−1)·p/100.
 */

declare const sorted: unique symbol;

/** Ascending, finite samples. Only {@link sortSamples} makes one, so a percentile cannot be taken of unsorted input. */
export type SortedSamples = Float64Array & { readonly [sorted]: true };

/** Sorts a copy. Throws on NaN or ±Infinity: a metric that was not measured is `null`, not a number. */
export function sortSamples(samples: ArrayLike<number>): SortedSamples {
  const copy = Float64Array.from(samples);
  for (const value of copy) {
    if (!Number.isFinite(value)) throw new Error(`a sample is ${value}; unmeasured values must be left out`);
  }
  return copy.sort() as SortedSamples;
}

/** The p-th percentile (0–100), or `null` without samples. */
export function percentile(samples: SortedSamples, p: number): number | null {
  const n = samples.length;
  if (n === 0) return null;
  const position = ((n - 1) * p) / 100;
  const below = Math.floor(position);
  const low = samples[below] as number;
  const high = samples[Math.min(below + 1, n - 1)] as number;
  // numpy's lerp: exact at both ends.
  const t = position - below;
  return t >= 0.5 ? high - (high - low) * (1 - t) : low + (high - low) * t;
}

/**
 * A distribution as it stands in `summary.json`: `n`, `mean`, `std` (population), `min`, `max`, and one key `p<P>` per
 * percentile asked for. Without samples everything but `n` is `null`. `low_sample` lists the percentiles that stand on
 * fewer than 100/(100−p) samples.
 */
export interface Distribution {
  readonly n: number;
  readonly mean: number | null;
  readonly std: number | null;
  readonly min: number | null;
  readonly max: number | null;
  readonly low_sample?: readonly string[];
  readonly [percentile: `p${string}`]: number | null;
}

export const DEFAULT_PERCENTILES: readonly number[] = [50, 90, 95, 99];

/** The key of a percentile: 99.9 → `p99.9`. */
export function percentileKey(p: number): `p${string}` {
  return `p${p}`;
}

/** Describes samples (any order). */
export function describeSamples(
  samples: ArrayLike<number>,
  percentiles: readonly number[] = DEFAULT_PERCENTILES,
): Distribution {
  return describeSorted(sortSamples(samples), percentiles);
}

export function describeSorted(
  samples: SortedSamples,
  percentiles: readonly number[] = DEFAULT_PERCENTILES,
): Distribution {
  const n = samples.length;
  const values: Record<`p${string}`, number | null> = {};
  const low: string[] = [];
  for (const p of percentiles) {
    values[percentileKey(p)] = percentile(samples, p);
    if (n > 0 && p < 100 && n < 100 / (100 - p) - 1e-9) low.push(percentileKey(p));
  }
  const lowSample = low.length > 0 ? { low_sample: low } : {};
  if (n === 0) return { n, mean: null, std: null, min: null, max: null, ...values };
  let sum = 0;
  for (const value of samples) sum += value;
  const mean = sum / n;
  let squares = 0;
  for (const value of samples) squares += (value - mean) ** 2;
  return {
    n,
    mean,
    std: Math.sqrt(squares / n),
    min: samples[0] as number,
    max: samples[n - 1] as number,
    ...values,
    ...lowSample,
  };
}
