import type { RequestRecord } from "../../record/request-record.ts";
import type { RequestMetric } from "./request-metric.ts";

/**
 * Time per output token after the first chunk, ms: (`last_token` − `first_token`) ÷ (output tokens − tokens of the first
 * chunk). The first chunk counts as one token where the stream does not tell. `null` if the divisor is below 1.
 */
export const tpot: RequestMetric = {
  id: "tpot",
  unit: "ms",
  title: "Time per output token",
  span: "first_token → last_token, a token",
  value: (record) => {
    const { first_token_ms, last_token_ms, output_tokens } = record;
    if (first_token_ms === null || last_token_ms === null || output_tokens === null) return null;
    const later = output_tokens - firstChunkTokens(record, output_tokens);
    return later < 1 ? null : (last_token_ms - first_token_ms) / later;
  },
};

function firstChunkTokens(record: RequestRecord, outputTokens: number): number {
  const told = record.chunk_tokens?.[0];
  if (told !== undefined) return told;
  // A single chunk holds them all: there is no second instant to measure a rate with.
  return record.chunks === 1 ? outputTokens : 1;
}
