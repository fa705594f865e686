/**
 * What a client observed of one request. Times are on the clock that the client was given (absolute, ms); the dispatcher
 * shifts them to the run's `t0` when it makes the record. `null` = not observed.
 */
import type { Failure } from "../core/failure.ts";
import type { Ms, Tokens } from "../core/units.ts";

export type TokenSource = "server" | "tokenizer" | "chunks" | "none";

/** What this server said of this one request. */
export interface EngineTimes {
  readonly queue_ms: Ms | null;
  readonly prefill_ms: Ms | null;
  readonly decode_ms: Ms | null;
  readonly cached_tokens: Tokens | null;
  /** Who said it: `llama.cpp timings`, `fastdeploy arrival_time`, `sim`, ... */
  readonly source: string;
  /** Further facts of this engine (FastDeploy's per-chunk server times, ...). */
  readonly [extra: string]: unknown;
}

export interface ToolCallRecord {
  readonly id: string | null;
  readonly name: string | null;
  /** Joined over the chunks. */
  readonly arguments: string;
}

export interface Observation {
  /** The request's first byte was handed to the socket of a ready connection; `null` if that never happened. */
  sent_ms: Ms | null;
  /** DNS, TCP and TLS for this request; 0 on a reused connection. */
  connect_ms: Ms;
  headers_ms: Ms | null;
  first_byte_ms: Ms | null;
  /** First chunk with payload of any kind: text, content, reasoning, tool call, refusal. */
  first_token_ms: Ms | null;
  /** First chunk with payload that is not reasoning. */
  first_output_ms: Ms | null;
  last_token_ms: Ms | null;
  /** The terminal event, or the end of the body; on failure the instant the failure was known. */
  end_ms: Ms;
  /** Arrival of each payload chunk, taken when the bytes are read, before parsing. Empty when not kept. */
  chunk_ms: readonly Ms[];
  /** Tokens in each payload chunk where the stream tells, else `null`. */
  chunk_tokens: readonly Tokens[] | null;
  /** Payload chunks seen (also when `chunk_ms` is not kept). */
  chunks: number;
  prompt_tokens: Tokens | null;
  output_tokens: Tokens | null;
  cached_tokens: Tokens | null;
  reasoning_tokens: Tokens | null;
  prompt_tokens_source: TokenSource;
  output_tokens_source: TokenSource;
  finish_reason: string | null;
  tool_calls: readonly ToolCallRecord[] | null;
  engine: EngineTimes | null;
  /** Everything but reasoning, joined; `null` unless asked for. */
  text: string | null;
  /** The reasoning, joined; kept where the text is, absent where there was none. */
  reasoning?: string;
  /** `null` = ok. */
  failure: Failure | null;
  http_status: number | null;
  attempts: number;
  /** Oddities worth telling: `content-encoding gzip despite identity`, `unknown event "foo"`, ... */
  notes: readonly string[];
}

/** Nothing observed yet. `sent`: for a client without a connection, whose send is the call itself. */
export function emptyObservation(sent: Ms | null = null): Observation {
  return {
    sent_ms: sent,
    connect_ms: 0,
    headers_ms: null,
    first_byte_ms: null,
    first_token_ms: null,
    first_output_ms: null,
    last_token_ms: null,
    end_ms: sent ?? 0,
    chunk_ms: [],
    chunk_tokens: null,
    chunks: 0,
    prompt_tokens: null,
    output_tokens: null,
    cached_tokens: null,
    reasoning_tokens: null,
    prompt_tokens_source: "none",
    output_tokens_source: "none",
    finish_reason: null,
    tool_calls: null,
    engine: null,
    text: null,
    failure: null,
    http_status: null,
    attempts: 1,
    notes: [],
  };
}
