import { between, type RequestMetric } from "./request-metric.ts";

/** Service time as the client sees it, ms: `sent` → `end`. */
export const e2e: RequestMetric = {
  id: "e2e",
  unit: "ms",
  title: "Service time",
  span: "sent → end",
  value: (record) => between(record.sent_ms, record.end_ms),
};
