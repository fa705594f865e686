/** The table of request metrics. A new one is a file beside this and a line here. */
import { chunk_gap } from "./chunk_gap.ts";
import { e2e } from "./e2e.ts";
import { itl } from "./itl.ts";
import { lateness } from "./lateness.ts";
import { output_tps } from "./output_tps.ts";
import type { PooledMetric, RequestMetric } from "./request-metric.ts";
import { response } from "./response.ts";
import { slot_wait } from "./slot_wait.ts";
import { tpot } from "./tpot.ts";
import { ttfo } from "./ttfo.ts";
import { ttft } from "./ttft.ts";
import { ttft_intended } from "./ttft_intended.ts";

/** One value a request. */
export const REQUEST_METRICS = {
  ttft,
  ttfo,
  tpot,
  e2e,
  response,
  ttft_intended,
  slot_wait,
  lateness,
  output_tps,
} as const satisfies Record<string, RequestMetric>;

/** Many values a request, pooled. */
export const POOLED_METRICS = { itl, chunk_gap } as const satisfies Record<string, PooledMetric>;

export type RequestMetricId = keyof typeof REQUEST_METRICS;
export type PooledMetricId = keyof typeof POOLED_METRICS;

export const REQUEST_METRIC_IDS = Object.keys(REQUEST_METRICS) as RequestMetricId[];

/** In the order of the reports. */
export const ALL_REQUEST_METRIC_IDS: readonly (RequestMetricId | PooledMetricId)[] = [
  "ttft",
  "ttfo",
  "tpot",
  "itl",
  "chunk_gap",
  "e2e",
  "response",
  "ttft_intended",
  "slot_wait",
  "lateness",
  "output_tps",
];
