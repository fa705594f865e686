/**
 * Paired bootstrap by job: whole jobs are drawn with replacement, the same draw for both runs, since turns of one job are
 * correlated and both runs did the same jobs. Percentile intervals of the log ratio, so that swapping the runs gives
 * exactly the inverse interval.
 */
import { percentile, sortSamples } from "../core/quantile.ts";
import type { Rng } from "../core/random.ts";
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

export function estimateRatio(
  statistic: Statistic,
  a: SortedValues,
  b: SortedValues,
  resamples: Resamples,
  confidence = 0.95,
): RatioEstimate {
  const each = new Uint8Array(resamples.jobs).fill(1);
  const valueA = weightedStatistic(statistic, a, each);
  const valueB = weightedStatistic(statistic, b, each);
  const ratio = valueA !== null && valueB !== null && valueA > 0 && valueB > 0 ? valueB / valueA : null;
  const logs: number[] = [];
  if (ratio !== null && resamples.jobs >= FEWEST_JOBS) {
    for (const weight of resamples.weights) {
      const x = weightedStatistic(statistic, a, weight);
      const y = weightedStatistic(statistic, b, weight);
      if (x !== null && y !== null && x > 0 && y > 0) logs.push(Math.log(y) - Math.log(x));
    }
  }
  const interval = logs.length < FEWEST / 2 ? null : middle(logs, confidence);
  return {
    a: valueA,
    b: valueB,
    ratio,
    interval: interval === null ? null : { low: Math.exp(interval.low), high: Math.exp(interval.high) },
  };
}

/** Interval of b − a, for statistics in absolute terms (milliseconds). */
export function estimateDifference(
  statistic: Statistic,
  a: SortedValues,
  b: SortedValues,
  resamples: Resamples,
  confidence = 0.95,
): Interval | null {
  if (resamples.jobs < FEWEST_JOBS) return null;
  const differences: number[] = [];
  for (const weight of resamples.weights) {
    const x = weightedStatistic(statistic, a, weight);
    const y = weightedStatistic(statistic, b, weight);
    if (x !== null && y !== null) differences.push(y - x);
  }
  return differences.length < FEWEST / 2 ? null : middle(differences, confidence);
}

/** Interval of the difference of two shares (b − a) over jobs; `flags` are 0 or 1 by job. */
export function estimateShareDifference(
  a: Int32Array,
  b: Int32Array,
  resamples: Resamples,
  confidence = 0.95,
): Interval | null {
  if (resamples.jobs < FEWEST_JOBS) return null;
  const differences = resamples.weights.map((weight) => {
    let sum = 0;
    for (let job = 0; job < weight.length; job++)
      sum += (weight[job] as number) * ((b[job] as number) - (a[job] as number));
    return sum / resamples.jobs;
  });
  return middle(differences, confidence);
}

function middle(samples: readonly number[], confidence: number): Interval {
  const sorted = sortSamples(samples);
  const tail = ((1 - confidence) / 2) * 100;
  return { low: percentile(sorted, tail) as number, high: percentile(sorted, 100 - tail) as number };
}
