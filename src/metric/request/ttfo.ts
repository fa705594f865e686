import { between, type RequestMetric } from "./request-metric.ts";

/** Time to first output, ms: `sent` → first payload that is not reasoning. `null` for a reply of reasoning only. */
export const ttfo: RequestMetric = {
  id: "ttfo",
  unit: "ms",
  title: "Time to first output",
  span: "sent → first_output",
  value: (record) => between(record.sent_ms, record.first_output_ms),
};
