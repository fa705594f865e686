/**
 * Exact distribution of very many values without sorting them: the order statistics that the percentiles need are found
 * by narrowing histograms, a few passes over the blocks. Same numbers as sorting (numpy's linear rule).
 */
import { type Distribution, percentileKey, sortSamples, describeSorted } from "../core/quantile.ts";

export interface ValueBlock {
  readonly values: Int32Array | Float64Array;
  readonly n: number;
  /** ms of one unit of `values`. */
  readonly unit: number;
  /** Where given, each value stands for `tokens[i]` values of `value ÷ tokens[i]`. */
  readonly tokens: Uint16Array | null;
}

const SORT_UP_TO = 1 << 20;
const BINS = 1 << 16;

type Visit = (value: number, count: number) => void;

/** Every value with how often it counts. */
export function forEach(blocks: readonly ValueBlock[], visit: Visit): void {
  for (const { values, n, unit, tokens } of blocks) {
    if (tokens === null) for (let i = 0; i < n; i++) visit((values[i] as number) * unit, 1);
    else
      for (let i = 0; i < n; i++) {
        const count = tokens[i] as number;
        visit(((values[i] as number) * unit) / count, count);
      }
  }
}

/** Describes the values of all blocks. `sortUpTo` is lowered in tests, so that the selection runs on small input. */
export function describePool(
  blocks: readonly ValueBlock[],
  percentiles: readonly number[],
  sortUpTo: number = SORT_UP_TO,
): Distribution {
  let n = 0;
  let sum = 0;
  let min = Infinity;
  let max = -Infinity;
  forEach(blocks, (value, count) => {
    n += count;
    sum += value * count;
    if (value < min) min = value;
    if (value > max) max = value;
  });
  if (n <= sortUpTo) return describeSorted(sortSamples(collect(blocks, min, max, n)), percentiles);
  const mean = sum / n;
  let squares = 0;
  forEach(blocks, (value, count) => {
    squares += (value - mean) ** 2 * count;
  });
  const ranks = new Set<number>();
  for (const p of percentiles) {
    const below = Math.floor(((n - 1) * p) / 100);
    ranks.add(below);
    ranks.add(Math.min(below + 1, n - 1));
  }
  const found = orderStatistics(
    blocks,
    [...ranks].sort((a, b) => a - b),
    { min, max, n },
    sortUpTo,
  );
  const values: Record<`p${string}`, number> = {};
  for (const p of percentiles) {
    const position = ((n - 1) * p) / 100;
    const below = Math.floor(position);
    const low = found.get(below) as number;
    const high = found.get(Math.min(below + 1, n - 1)) as number;
    const t = position - below;
    values[percentileKey(p)] = t >= 0.5 ? high - (high - low) * (1 - t) : low + (high - low) * t;
  }
  const low = percentiles.filter((p) => p < 100 && n < 100 / (100 - p) - 1e-9).map(percentileKey);
  return {
    n,
    mean,
    std: Math.sqrt(squares / n),
    min,
    max,
    ...values,
    ...(low.length > 0 ? { low_sample: low } : {}),
  };
}

interface Range {
  readonly min: number;
  readonly max: number;
  /** Values in [min, max]. */
  readonly n: number;
}

/** The values at these ranks (0-based, ascending), counted inside `range`. */
function orderStatistics(
  blocks: readonly ValueBlock[],
  ranks: readonly number[],
  range: Range,
  sortUpTo: number,
): Map<number, number> {
  const found = new Map<number, number>();
  const { min, max, n } = range;
  if (min === max) {
    for (const rank of ranks) found.set(rank, min);
    return found;
  }
  if (n <= sortUpTo) {
    const sorted = collect(blocks, min, max, n).sort();
    for (const rank of ranks) found.set(rank, sorted[rank] as number);
    return found;
  }
  const counts = new Float64Array(BINS);
  const lows = new Float64Array(BINS).fill(Infinity);
  const highs = new Float64Array(BINS).fill(-Infinity);
  forEach(blocks, (value, count) => {
    if (value < min || value > max) return;
    const bin = Math.min(BINS - 1, Math.floor(((value - min) / (max - min)) * BINS));
    counts[bin] = (counts[bin] as number) + count;
    if (value < (lows[bin] as number)) lows[bin] = value;
    if (value > (highs[bin] as number)) highs[bin] = value;
  });
  let before = 0;
  let next = 0;
  for (let bin = 0; bin < BINS && next < ranks.length; bin++) {
    const inside = counts[bin] as number;
    const wanted: number[] = [];
    while (next < ranks.length && (ranks[next] as number) < before + inside)
      wanted.push((ranks[next++] as number) - before);
    if (wanted.length > 0) {
      const sub = { min: lows[bin] as number, max: highs[bin] as number, n: inside };
      for (const [rank, value] of orderStatistics(blocks, wanted, sub, sortUpTo))
        found.set(rank + before, value);
    }
    before += inside;
  }
  return found;
}

function collect(blocks: readonly ValueBlock[], min: number, max: number, n: number): Float64Array {
  const values = new Float64Array(n);
  let at = 0;
  forEach(blocks, (value, count) => {
    if (value < min || value > max) return;
    values.fill(value, at, at + count);
    at += count;
  });
  return values;
}
