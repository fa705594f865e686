import type { PooledMetric } from "./request-metric.ts";

/** Gap between payload chunks, ms: chunk → next chunk, pooled over requests. */
export const chunk_gap: PooledMetric = {
  id: "chunk_gap",
  unit: "ms",
  title: "Gap between chunks",
  span: "payload chunk → next payload chunk",
  mean: ({ chunk_ms }) => {
    const n = chunk_ms?.length ?? 0;
    if (chunk_ms === undefined || n < 2) return null;
    return ((chunk_ms[n - 1] as number) - (chunk_ms[0] as number)) / (n - 1);
  },
};
