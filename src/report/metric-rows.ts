/** Distributions as rows of a table: one source for the terminal, Markdown and CSV. */
import type { Distribution } from "../core/quantile.ts";
import { JOB_METRICS, JOB_METRIC_IDS } from "../metric/job/index.ts";
import { ALL_REQUEST_METRIC_IDS, POOLED_METRICS, REQUEST_METRICS } from "../metric/request/index.ts";
import type { Summary } from "../metric/summary.ts";
import { NOT_MEASURED, formatCount, formatNumber, timeUnit } from "./quantity.ts";

export interface MetricRow {
  readonly id: string;
  readonly title: string;
  /** `ms`, `tokens/s`, `tokens`, `turns`. */
  readonly unit: string;
  readonly distribution: Distribution;
}

export function requestRows(summary: Summary): MetricRow[] {
  const metrics = { ...REQUEST_METRICS, ...POOLED_METRICS };
  return ALL_REQUEST_METRIC_IDS.map((id) => ({
    id,
    title: metrics[id].title,
    unit: metrics[id].unit,
    distribution: summary.requests[id],
  }));
}

export function jobRows(summary: Summary): MetricRow[] {
  return JOB_METRIC_IDS.map((id) => ({
    id,
    title: JOB_METRICS[id].title,
    unit: JOB_METRICS[id].unit,
    distribution: summary.jobs[id],
  }));
}

/** `p50`, ... in the order computed: those of the first rows, then those that only an objective asked for. */
export function percentileKeys(rows: readonly MetricRow[]): `p${string}`[] {
  const keys = rows.flatMap(({ distribution }) => Object.keys(distribution));
  return [...new Set(keys)].filter((key): key is `p${string}` => /^p\d/.test(key));
}

/** Cells of one row: title with unit, n, mean, percentiles, max. A percentile from too few samples ends in `*`. */
export function metricCells(row: MetricRow, keys: readonly `p${string}`[]): string[] {
  const { distribution } = row;
  const unit = row.unit === "ms" ? timeUnit(distribution["p50"] ?? distribution.mean) : row.unit;
  const scale = unit === "s" ? 1000 : 1;
  const show = (value: number | null | undefined): string =>
    value === null || value === undefined ? NOT_MEASURED : formatNumber(value / scale);
  return [
    row.unit === "tokens" || row.unit === "turns" ? row.title : `${row.title}, ${unit}`,
    formatCount(distribution.n),
    show(distribution.mean),
    ...keys.map((key) =>
      distribution[key] === undefined
        ? ""
        : `${show(distribution[key])}${distribution.low_sample?.includes(key) === true ? "*" : ""}`,
    ),
    show(distribution.max),
  ];
}

/** Whether some percentile shown stands on too few samples. */
export function hasLowSample(rows: readonly MetricRow[]): boolean {
  return rows.some(({ distribution }) => (distribution.low_sample?.length ?? 0) > 0);
}

export const LOW_SAMPLE_NOTE = "* from too few samples to mean much (p needs 100 ÷ (100 − p) of them)";
