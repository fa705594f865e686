import type { RequestMetric } from "./request-metric.ts";

/** Waiting for `--max-concurrency`, ms: max(0, `slot` − `intended`). `null` without a cap. */
export const slot_wait: RequestMetric = {
  id: "slot_wait",
  unit: "ms",
  title: "Slot wait",
  span: "intended → slot",
  value: ({ intended_ms, slot_ms }) =>
    intended_ms === null || slot_ms === null ? null : Math.max(0, slot_ms - intended_ms),
};
