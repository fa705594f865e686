import type { RequestRecord } from "../../record/request-record.ts";
import { chunk_gap } from "./chunk_gap.ts";
import type { PooledMetric } from "./request-metric.ts";

/**
 * Inter-token latency, ms: each gap between chunks spread evenly over the tokens of the later chunk, one value a token,
 * pooled over requests. The gap before a chunk without tokens is carried to the next one. Where the stream does not
 * tell tokens a chunk it equals `chunk_gap`, and the summary says so (`basis`).
 */
export const itl: PooledMetric = {
  id: "itl",
  unit: "ms",
  title: "Inter-token latency",
  span: "chunk → next chunk, a token",
  mean: (record) => {
    let sum = 0;
    let n = 0;
    if (
      !spreadGaps(record, (gap, tokens) => {
        sum += gap;
        n += tokens;
      })
    )
      return record.chunk_ms === undefined ? meanOfSpan(record) : chunk_gap.mean(record);
    return n === 0 ? null : sum / n;
  },
};

/** Without the chunks' times: from first to last, over the tokens that came after the first chunk. */
function meanOfSpan(record: RequestRecord): number | null {
  const { chunk_tokens, first_token_ms, last_token_ms } = record;
  if (chunk_tokens === null || first_token_ms === null || last_token_ms === null)
    return chunk_gap.mean(record);
  const later = chunk_tokens.slice(1).reduce((sum, tokens) => sum + tokens, 0);
  return later < 1 ? null : (last_token_ms - first_token_ms) / later;
}

/**
 * Calls `emit` with each gap and the number of tokens it is spread over. Returns false, without a call, where tokens a
 * chunk are not known.
 */
export function spreadGaps(record: RequestRecord, emit: (gap: number, tokens: number) => void): boolean {
  const { chunk_ms, chunk_tokens } = record;
  if (chunk_ms === undefined || chunk_tokens === null || chunk_tokens.length !== chunk_ms.length)
    return false;
  let since = chunk_ms[0];
  for (let i = 1; i < chunk_ms.length; i++) {
    const tokens = chunk_tokens[i] as number;
    if (tokens <= 0) continue;
    const at = chunk_ms[i] as number;
    emit(at - (since as number), tokens);
    since = at;
  }
  return true;
}
