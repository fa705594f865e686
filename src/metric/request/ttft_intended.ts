import { between, type RequestMetric } from "./request-metric.ts";

/** Time to first token as the user of a busy system sees it, ms: `intended` → `first_token`. */
export const ttft_intended: RequestMetric = {
  id: "ttft_intended",
  unit: "ms",
  title: "First token from intended",
  span: "intended → first_token",
  value: (record) => between(record.intended_ms, record.first_token_ms),
};
