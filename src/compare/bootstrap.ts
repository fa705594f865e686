/**
 * Paired bootstrap by job: whole jobs are drawn with replacement, the same draw for both runs, since turns of one job are
 * correlated and both runs did the same jobs. Percentile intervals of the log ratio, so that swapping the runs gives
 * exactly the inverse interval.
 */
import { percentile, sortSamples } from "../core/quantile.ts";
import type { Rng } from "../core/random.ts";
import { meanOf, widenByRuns } from "./run-noise.ts";
import { weightedStatistic, type SortedValues, type Statistic } from "./statistic.ts";

export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** Draws: how often each of `jobs` jobs is in each of the resamples. */
export interface Resamples {
  readonly jobs: number;
  readonly weights: readonly Uint8Array[];
}

/** More resamples make no difference to a 95 % interval that anyone would act on. */
export const RESAMPLES = 2000;
/** Values looked at in all, at most: keeps runs of a million requests bearable. */
const WORK = 2e8;
const FEWEST = 200;

export function drawResamples(rng: Rng, jobs: number, values: number): Resamples {
  const count = Math.max(FEWEST, Math.min(RESAMPLES, Math.floor(WORK / Math.max(1, values))));
  // No job is drawn 256 times: with n draws of n jobs each has a Poisson(1) count.
  const weights: Uint8Array[] = [];
  for (let i = 0; i < count; i++) {
    const weight = new Uint8Array(jobs);
    for (let draw = 0; draw < jobs; draw++) {
      const job = Math.floor(rng.uniform() * jobs);
      weight[job] = (weight[job] as number) + 1;
    }
    weights.push(weight);
  }
  return { jobs, weights };
}

export interface RatioEstimate {
  readonly a: number | null;
  readonly b: number | null;
  /** b ÷ a; `null` where one is not measured or not positive. */
  readonly ratio: number | null;
  /** 95 % interval of the ratio; `null` where too few jobs carry it. */
  readonly interval: Interval | null;
}

/** Below this many jobs the spread between jobs cannot be told. */
const FEWEST_JOBS = 5;

/**
 * b ÷ a of a statistic. Each side is one run or several of one configuration (then the ratio of their geometric means, and an interval
 * that knows the noise between runs).
 */
export function estimateRatio(
  statistic: Statistic,
  a: readonly SortedValues[],
  b: readonly SortedValues[],
  resamples: Resamples,
  confidence = 0.95,
): RatioEstimate {
  const each = new Uint8Array(resamples.jobs).fill(1);
  const runsA = statistics(statistic, a, each);
  const runsB = statistics(statistic, b, each);
  const valueA = runsA === null ? null : geometricMean(runsA);
  const valueB = runsB === null ? null : geometricMean(runsB);
  const ratio = valueA !== null && valueB !== null && valueA > 0 && valueB > 0 ? valueB / valueA : null;
  const logs: number[] = [];
  if (ratio !== null && resamples.jobs >= FEWEST_JOBS) {
    for (const weight of resamples.weights) {
      const x = statistics(statistic, a, weight);
      const y = statistics(statistic, b, weight);
      if (x?.every(isPositive) === true && y?.every(isPositive) === true)
        logs.push(meanOf(y.map(Math.log)) - meanOf(x.map(Math.log)));
    }
  }
  if (ratio === null || logs.length < FEWEST / 2) return { a: valueA, b: valueB, ratio, interval: null };
  const [logA, logB] = [(runsA ?? []).map(Math.log), (runsB ?? []).map(Math.log)];
  const interval = widenByRuns(middle(logs, confidence), Math.log(ratio), logA, logB);
  return {
    a: valueA,
    b: valueB,
    ratio,
    interval: { low: Math.exp(interval.low), high: Math.exp(interval.high) },
  };
}

/** b − a, and its interval, for statistics in absolute terms (milliseconds). Several runs of a side count by their mean. */
export function estimateDifference(
  statistic: Statistic,
  a: readonly SortedValues[],
  b: readonly SortedValues[],
  resamples: Resamples,
  confidence = 0.95,
): { readonly change: number | null; readonly interval: Interval | null } {
  const each = new Uint8Array(resamples.jobs).fill(1);
  const runsA = statistics(statistic, a, each);
  const runsB = statistics(statistic, b, each);
  if (runsA === null || runsB === null) return { change: null, interval: null };
  const change = meanOf(runsB) - meanOf(runsA);
  if (resamples.jobs < FEWEST_JOBS) return { change, interval: null };
  const differences: number[] = [];
  for (const weight of resamples.weights) {
    const x = statistics(statistic, a, weight);
    const y = statistics(statistic, b, weight);
    if (x !== null && y !== null) differences.push(meanOf(y) - meanOf(x));
  }
  if (differences.length < FEWEST / 2) return { change, interval: null };
  return { change, interval: widenByRuns(middle(differences, confidence), change, runsA, runsB) };
}

/** The difference of two shares (b − a) over jobs, and its interval; flags are 0 or 1 by job, one list a run. */
export function estimateShareDifference(
  a: readonly Int32Array[],
  b: readonly Int32Array[],
  resamples: Resamples,
  confidence = 0.95,
): { readonly change: number; readonly interval: Interval | null } {
  const count = (side: readonly Int32Array[], weight?: ArrayLike<number>): number[] =>
    side.map((flags) => flags.reduce((sum, flag, job) => sum + flag * (weight?.[job] ?? 1), 0));
  const shares = (counts: readonly number[]): number[] => counts.map((each) => each / resamples.jobs);
  const apart = (x: readonly number[], y: readonly number[]): number =>
    (meanOf(y) - meanOf(x)) / resamples.jobs;
  const [runsA, runsB] = [count(a), count(b)];
  const change = apart(runsA, runsB);
  if (resamples.jobs < FEWEST_JOBS) return { change, interval: null };
  const differences = resamples.weights.map((weight) => apart(count(a, weight), count(b, weight)));
  const interval = middle(differences, confidence);
  return { change, interval: widenByRuns(interval, change, shares(runsA), shares(runsB)) };
}

/** The statistic of each run; `null` where one has none. */
function statistics(
  statistic: Statistic,
  runs: readonly SortedValues[],
  weight: ArrayLike<number>,
): number[] | null {
  const values = runs.map((values) => weightedStatistic(statistic, values, weight));
  return values.every((value) => value !== null) ? values : null;
}

/** The one value as it is, or the geometric mean: 0 where one is not positive. */
function geometricMean(values: readonly number[]): number {
  if (values.length === 1) return values[0] as number;
  return values.every(isPositive) ? Math.exp(meanOf(values.map(Math.log))) : 0;
}

function isPositive(value: number): boolean {
  return value > 0;
}

function middle(samples: readonly number[], confidence: number): Interval {
  const sorted = sortSamples(samples);
  const tail = ((1 - confidence) / 2) * 100;
  return { low: percentile(sorted, tail) as number, high: percentile(sorted, 100 - tail) as number };
}
