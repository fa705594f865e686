/** What whoever watches a run is told of a request that has ended; the whole record is in the log. */
import type { RequestRecord } from "../record/request-record.ts";

export type EndedRequest = Pick<
  RequestRecord,
  | "status"
  | "failure"
  | "intended_ms"
  | "slot_ms"
  | "sent_ms"
  | "connect_ms"
  | "first_token_ms"
  | "end_ms"
  | "output_tokens"
>;

/** Just these fields: records go between threads as text, and this beside them. */
export function endedRequest(record: RequestRecord): EndedRequest {
  return {
    status: record.status,
    failure: record.failure,
    intended_ms: record.intended_ms,
    slot_ms: record.slot_ms,
    sent_ms: record.sent_ms,
    connect_ms: record.connect_ms,
    first_token_ms: record.first_token_ms,
    end_ms: record.end_ms,
    output_tokens: record.output_tokens,
  };
}
