/**
 * A 95 % band around the quantiles of one run, by bootstrap over whole jobs: turns of one job are correlated, so requests alone
 * are never drawn. For overlaid distributions; a verdict needs the paired comparison.
 */
import { percentile, sortSamples } from "../core/quantile.ts";
import { createRng } from "../core/random.ts";
import type { MetricColumn } from "./run-samples.ts";

export interface QuantileBand {
  /** 0–100. */
  readonly percentiles: readonly number[];
  readonly value: readonly number[];
  readonly low: readonly number[];
  readonly high: readonly number[];
  /** Jobs that carry it. */
  readonly jobs: number;
}

const RESAMPLES = 400;
const FEWEST_RESAMPLES = 100;
/** Values looked at in all, at most. */
const WORK = 1e8;
const FEWEST_JOBS = 5;

/** `null` where fewer than 5 jobs carry the metric: the spread between jobs cannot be told. */
export function quantileBand(
  column: MetricColumn,
  percentiles: readonly number[],
  seed = 0,
): QuantileBand | null {
  const order = Array.from(column.value.keys()).sort(
    (a, b) => (column.value[a] as number) - (column.value[b] as number),
  );
  const position = new Map<number, number>();
  for (const at of order) {
    const job = column.job[at] as number;
    if (!position.has(job)) position.set(job, position.size);
  }
  const jobs = position.size;
  if (jobs < FEWEST_JOBS) return null;
  const value = Float64Array.from(order, (at) => column.value[at] as number);
  const job = Int32Array.from(order, (at) => position.get(column.job[at] as number) as number);
  const rng = createRng(seed).fork("quantile-band");
  const count = Math.max(FEWEST_RESAMPLES, Math.min(RESAMPLES, Math.floor(WORK / value.length)));
  const draws: number[][] = percentiles.map(() => []);
  const weight = new Int32Array(jobs);
  for (let i = 0; i < count; i++) {
    weight.fill(0);
    for (let draw = 0; draw < jobs; draw++) {
      const at = Math.floor(rng.uniform() * jobs);
      weight[at] = (weight[at] as number) + 1;
    }
    weightedPercentiles(value, job, weight, percentiles).forEach((at, p) => (draws[p] as number[]).push(at));
  }
  const all = sortSamples(value);
  const bound = (p: number): number[] => draws.map((values) => percentile(sortSamples(values), p) as number);
  return {
    percentiles,
    value: percentiles.map((p) => percentile(all, p) as number),
    low: bound(2.5),
    high: bound(97.5),
    jobs,
  };
}

/** Percentiles (ascending) of values counted `weight[job]` times each, as if listed so often; type 7, in one pass. */
function weightedPercentiles(
  value: Float64Array,
  job: Int32Array,
  weight: Int32Array,
  percentiles: readonly number[],
): number[] {
  let n = 0;
  for (let at = 0; at < value.length; at++) n += weight[job[at] as number] as number;
  const found: number[] = [];
  let at = 0;
  let seen = weight[job[0] as number] as number;
  for (const p of percentiles) {
    const rank = ((n - 1) * p) / 100;
    const below = Math.floor(rank);
    while (seen <= below) seen += weight[job[++at] as number] as number;
    const low = value[at] as number;
    // The next value, looked for without moving on: the next percentile may still lie before it.
    let next = at;
    let reach = seen;
    while (reach <= below + 1 && next < value.length - 1) reach += weight[job[++next] as number] as number;
    found.push(rank === below ? low : low + ((value[next] as number) - low) * (rank - below));
  }
  return found;
}
