/** What a request metric is. Each lives in a file of its own; file name = id = key in `summary.json`. */
import type { RequestRecord } from "../../record/request-record.ts";

export interface RequestMetric {
  readonly id: string;
  readonly unit: "ms" | "tokens/s";
  /** Name for people. */
  readonly title: string;
  /** Start and end instant, as the report tells them. */
  readonly span: string;
  /** The value of one request, or `null` where it was not measured. Only `ok` requests enter a distribution. */
  value(record: RequestRecord): number | null;
}

/** A metric with many values a request, pooled over all requests. */
export interface PooledMetric {
  readonly id: string;
  readonly unit: "ms";
  readonly title: string;
  readonly span: string;
  /** The mean over one request's values: what an objective on this metric means. `null` without values. */
  mean(record: RequestRecord): number | null;
}

/** `to − from`, `null` where either was not observed. */
export function between(from: number | null, to: number | null): number | null {
  return from === null || to === null ? null : to - from;
}
