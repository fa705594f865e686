/** What whoever watches a run is told of a request that has ended; the whole record is in the log. */
import type { RequestRecord } from "../record/request-record.ts";

export type EndedRequest = Pick<
  RequestRecord,
  | "request_id"
  | "job_id"
  | "turn"
  | "status"
  | "failure"
  | "intended_ms"
  | "slot_ms"
  | "sent_ms"
  | "connect_ms"
  | "first_token_ms"
  | "last_token_ms"
  | "end_ms"
  | "chunks"
  | "output_tokens"
>;

/** Just these fields: records go between threads as text, and this beside them. */
export function endedRequest(record: RequestRecord): EndedRequest {
  return {
    request_id: record.request_id,
    job_id: record.job_id,
    turn: record.turn,
    status: record.status,
    failure: record.failure,
    intended_ms: record.intended_ms,
    slot_ms: record.slot_ms,
    sent_ms: record.sent_ms,
    connect_ms: record.connect_ms,
    first_token_ms: record.first_token_ms,
    last_token_ms: record.last_token_ms,
    end_ms: record.end_ms,
    chunks: record.chunks,
    output_tokens: record.output_tokens,
  };
}
