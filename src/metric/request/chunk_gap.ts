import type { PooledMetric } from "./request-metric.ts";

/** Gap between payload chunks, ms: chunk → next chunk, pooled over requests. */
export const chunk_gap: PooledMetric = {
  id: "chunk_gap",
  unit: "ms",
  title: "Gap between chunks",
  span: "payload chunk → next payload chunk",
  // Without the chunks' times (`--timeline none`) their mean gap is still known.
  mean: ({ chunks, first_token_ms, last_token_ms }) =>
    chunks < 2 || first_token_ms === null || last_token_ms === null
      ? null
      : (last_token_ms - first_token_ms) / (chunks - 1),
};
