/** One line of `records.jsonl`: what happened to one request. Times are ms from the run's `t0`. */
import type { Failure } from "../core/failure.ts";
import type { Ms, Tokens } from "../core/units.ts";
import type { EngineTimes, TokenSource, ToolCallRecord } from "./observation.ts";

/** `cancelled`: cut by the run's end. `skipped`: a parent failed; never sent. */
export type RequestStatus = "ok" | "failed" | "cancelled" | "skipped";

export interface RequestRecord {
  readonly request_id: string;
  readonly job_id: string;
  readonly turn: number;
  readonly status: RequestStatus;
  readonly failure: Failure | null;
  /** For skipped requests `null` where the parent's end does not tell. */
  readonly intended_ms: Ms | null;
  readonly slot_ms: Ms | null;
  readonly sent_ms: Ms | null;
  readonly connect_ms: Ms;
  readonly headers_ms: Ms | null;
  readonly first_byte_ms: Ms | null;
  readonly first_token_ms: Ms | null;
  readonly first_output_ms: Ms | null;
  readonly last_token_ms: Ms | null;
  readonly end_ms: Ms | null;
  /** Absent with `--timeline none`. */
  readonly chunk_ms?: readonly Ms[];
  readonly chunk_tokens: readonly Tokens[] | null;
  /** Payload chunks. */
  readonly chunks: number;
  readonly prompt_tokens: Tokens | null;
  readonly output_tokens: Tokens | null;
  readonly cached_tokens: Tokens | null;
  readonly reasoning_tokens: Tokens | null;
  readonly prompt_tokens_source: TokenSource;
  readonly output_tokens_source: TokenSource;
  readonly planned_prompt_tokens: Tokens | null;
  readonly planned_output_tokens: Tokens | null;
  readonly finish_reason: string | null;
  readonly tool_calls: readonly ToolCallRecord[] | null;
  readonly engine: EngineTimes | null;
  readonly attempts: number;
  /** Parents that released this request (request ids); `[]` for one released by time or by a slot. */
  readonly after: readonly string[];
  /** Think and tool time between the last parent's end and `intended_ms`; 0 for one released by time or by a slot. */
  readonly think_ms: Ms;
  readonly agent: string | null;
  /** Only with `--save-text`. */
  readonly text?: string;
  /** Only with `--save-text`: what the model thought aloud, apart from its answer. */
  readonly reasoning?: string;
  /** Only with `bench --save-detailed`: the prompt that was sent, messages as JSON. */
  readonly input_text?: string;
  readonly notes?: readonly string[];
}
