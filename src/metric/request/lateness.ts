import type { RequestMetric } from "./request-metric.ts";

/**
 * The generator's own fault, ms: max(`intended`, `slot`) → `sent` − `connect_ms`. With the others,
 * `sent − intended = slot_wait + lateness + connect`.
 */
export const lateness: RequestMetric = {
  id: "lateness",
  unit: "ms",
  title: "Lateness of sends",
  span: "max(intended, slot) → sent − connect",
  value: ({ intended_ms, slot_ms, sent_ms, connect_ms }) =>
    intended_ms === null || sent_ms === null
      ? null
      : sent_ms - connect_ms - Math.max(intended_ms, slot_ms ?? intended_ms),
};
