/**
 * Noise between whole runs. Resampling jobs sees what differs between jobs, not what shifts all jobs of a run (a hot GPU, another placement): only repeats show
 * that, and for it the runs are the unit. With two runs or more on each side, the 95 % interval of the difference of their means gets
 * Student's share for it, with the variance pooled over both sides.
 */
import type { Interval } from "./bootstrap.ts";

/** 97.5 % quantiles of Student's t for 1 to 30 degrees of freedom. */
const T_975 = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131,
  2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
] as const;

/**
 * `interval` around `center`, widened by the runs' own spread: half-widths add as independent errors do. `a` and `b` are the
 * statistic of each run, on the interval's scale. Unchanged where a side has only one run: its noise is not known.
 */
export function widenByRuns(
  interval: Interval,
  center: number,
  a: readonly number[],
  b: readonly number[],
): Interval {
  if (a.length < 2 || b.length < 2) return interval;
  const freedom = a.length + b.length - 2;
  const pooled = (squares(a) + squares(b)) / freedom;
  const half = studentT(freedom) * Math.sqrt(pooled * (1 / a.length + 1 / b.length));
  return {
    low: center - Math.hypot(Math.max(0, center - interval.low), half),
    high: center + Math.hypot(Math.max(0, interval.high - center), half),
  };
}

export function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function squares(values: readonly number[]): number {
  const mean = meanOf(values);
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
}

/** Beyond the table: within 0.1 %. */
function studentT(freedom: number): number {
  return T_975[freedom - 1] ?? 1.96 + 2.46 / freedom;
}
