/** `p99(job_e2e)`, `mean(ttft)`: a statistic of a metric, as written in gates. */
import { UserError } from "../core/failure.ts";
import { nearestHint } from "../core/nearest.ts";

export interface Statistic {
  /** As written, spaces dropped: `p99(job_e2e)`. */
  readonly text: string;
  readonly metric: string;
  readonly kind: "mean" | "percentile";
  /** 0–100; `null` for the mean. */
  readonly p: number | null;
  readonly better: "lower" | "higher";
}

/** Metrics of which more is better; of all others less is. */
const HIGHER_IS_BETTER: readonly string[] = ["output_tps"];

export function parseStatistic(text: string, metrics: readonly string[], where: string): Statistic {
  const match = /^\s*(\w+(?:\.\d+)?)\s*\(\s*([\w.]+)\s*\)\s*$/.exec(text);
  const [, name = "", metric = ""] = match ?? [];
  const p =
    name === "median"
      ? 50
      : name === "max"
        ? 100
        : name === "min"
          ? 0
          : Number(/^p(\d+(?:\.\d+)?)$/.exec(name)?.[1] ?? NaN);
  if (match === null || (name !== "mean" && !(p >= 0 && p <= 100))) {
    throw new UserError(`${where}: "${text}" is not a statistic of a metric`, {
      hint: "write mean(job_e2e), p99(job_e2e), p50(ttft), max(tpot)",
    });
  }
  if (!metrics.includes(metric)) {
    throw new UserError(`${where}: no metric "${metric}"`, {
      hint: nearestHint(metric, metrics) ?? `metrics: ${metrics.join(", ")}`,
    });
  }
  return makeStatistic(metric, name === "mean" ? null : p);
}

/** `p` null = the mean. */
export function makeStatistic(metric: string, p: number | null): Statistic {
  return {
    text: `${p === null ? "mean" : `p${p}`}(${metric})`,
    metric,
    kind: p === null ? "mean" : "percentile",
    p,
    better: HIGHER_IS_BETTER.includes(metric) ? "higher" : "lower",
  };
}

/** Values in ascending order, with the job (position among the paired jobs) each belongs to. */
export interface SortedValues {
  readonly value: Float64Array;
  readonly job: Int32Array;
  /** By job: how many values, and their sum. */
  readonly count: Int32Array;
  readonly sum: Float64Array;
}

/** `value` must be ascending. */
export function sortedValues(value: Float64Array, job: Int32Array, jobs: number): SortedValues {
  const count = new Int32Array(jobs);
  const sum = new Float64Array(jobs);
  for (let at = 0; at < value.length; at++) {
    const of = job[at] as number;
    count[of] = (count[of] as number) + 1;
    sum[of] = (sum[of] as number) + (value[at] as number);
  }
  return { value, job, count, sum };
}

/**
 * The statistic over values counted `weight[job]` times each, as if they were listed so often; percentiles interpolate
 * linearly (Hyndman & Fan type 7). `null` without values. Walks in from the nearer end, so that a p99 looks at few.
 */
export function weightedStatistic(
  statistic: Statistic,
  values: SortedValues,
  weight: ArrayLike<number>,
): number | null {
  let n = 0;
  let sum = 0;
  for (let job = 0; job < values.count.length; job++) {
    n += (weight[job] as number) * (values.count[job] as number);
    sum += (weight[job] as number) * (values.sum[job] as number);
  }
  if (n === 0) return null;
  if (statistic.p === null) return sum / n;
  const position = ((n - 1) * statistic.p) / 100;
  const below = Math.floor(position);
  const share = position - below;
  const above = Math.min(below + 1, n - 1);
  const [low, high] =
    below < n / 2
      ? orderFromStart(values, weight, below, above)
      : orderFromEnd(values, weight, below, above, n);
  return low + (high - low) * share;
}

/** The values at two places (0-based, one after the other) of the list in which each stands `weight` times. */
function orderFromStart(
  { value, job }: SortedValues,
  weight: ArrayLike<number>,
  first: number,
  second: number,
): [number, number] {
  let seen = 0;
  let low = NaN;
  for (let at = 0; at < value.length; at++) {
    seen += weight[job[at] as number] as number;
    if (Number.isNaN(low) && seen > first) low = value[at] as number;
    if (seen > second) return [low, value[at] as number];
  }
  throw new Error("the list is shorter than its count");
}

function orderFromEnd(
  { value, job }: SortedValues,
  weight: ArrayLike<number>,
  first: number,
  second: number,
  n: number,
): [number, number] {
  // Places below the values seen so far: a value covers [left, left + weight).
  let left = n;
  let high = NaN;
  for (let at = value.length - 1; at >= 0; at--) {
    left -= weight[job[at] as number] as number;
    if (Number.isNaN(high) && left <= second) high = value[at] as number;
    if (left <= first) return [value[at] as number, high];
  }
  throw new Error("the list is shorter than its count");
}
