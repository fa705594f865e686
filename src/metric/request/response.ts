import { between, type RequestMetric } from "./request-metric.ts";

/** What the user of a busy system sees, ms: `intended` → `end`. Waiting that a late send or a full slot caused is in it. */
export const response: RequestMetric = {
  id: "response",
  unit: "ms",
  title: "Response time",
  span: "intended → end",
  value: (record) => between(record.intended_ms, record.end_ms),
};
