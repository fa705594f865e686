import { between, type RequestMetric } from "./request-metric.ts";

/** Time to first token, ms: `sent` → first payload of any kind. `null` without a token or without streaming. */
export const ttft: RequestMetric = {
  id: "ttft",
  unit: "ms",
  title: "Time to first token",
  span: "sent → first_token",
  value: (record) => between(record.sent_ms, record.first_token_ms),
};
