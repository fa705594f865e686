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
}

/**
 * The statistic over values counted `weight[job]` times each, as if they were listed so often; percentiles interpolate
 * linearly (Hyndman & Fan type 7). `null` without values.
 */
export function weightedStatistic(
  statistic: Statistic,
  values: SortedValues,
  weight: Int32Array,
): number | null {
  const { value, job } = values;
  let count = 0;
  let sum = 0;
  for (let at = 0; at < value.length; at++) {
    const times = weight[job[at] as number] as number;
    count += times;
    sum += times * (value[at] as number);
  }
  if (count === 0) return null;
  if (statistic.p === null) return sum / count;
  const position = ((count - 1) * statistic.p) / 100;
  const below = Math.floor(position);
  const share = position - below;
  let seen = 0;
  let low: number | null = null;
  for (let at = 0; at < value.length; at++) {
    seen += weight[job[at] as number] as number;
    if (low === null && seen > below) {
      low = value[at] as number;
      if (share === 0) return low;
    }
    if (low !== null && seen > below + 1) return low + ((value[at] as number) - low) * share;
  }
  return low;
}
