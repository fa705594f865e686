/**
 * The contract of a protocol: how a {@link ModelRequest} becomes an HTTP request, and how the events (or the one body)
 * of its response are read. Protocols know nothing of sockets and time. One protocol a file in protocols/, one line in
 * protocols/index.ts.
 */
import type { JsonObject } from "../core/json.ts";
import type { EngineTimes } from "../record/observation.ts";
import type { ModelRequest } from "./client.ts";

export interface HttpRequest {
  readonly method: "POST" | "GET";
  /** Appended to the base URL as `endpoint.ts` says. */
  readonly path: string;
  readonly body: JsonObject;
  /** Headers that this protocol needs besides the usual ones. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What one event (or the whole JSON body) told. A reader fills only what it saw; fields start as `null`/false. */
export interface Delta {
  /** Visible text: completions text, chat content, refusal. */
  text: string | null;
  reasoning: string | null;
  /** A tool-call fragment came. */
  tool_calls: readonly ToolCallDelta[] | null;
  finish_reason: string | null;
  /** The protocol's end event (`[DONE]`, `message_stop`, ...). */
  done: boolean;
  /** An error object or event: the server's message. */
  error: string | null;
  prompt_tokens: number | null;
  /** Cumulative output tokens so far. */
  output_tokens: number | null;
  cached_tokens: number | null;
  reasoning_tokens: number | null;
  /** Tokens in this very chunk where the stream tells (token ids, logprobs). */
  chunk_tokens: number | null;
  engine: EngineTimes | null;
  note: string | null;
  /** Payload of a choice other than the first (`n` > 1), or that is no text (sound, ids): it counts for times and not for the text. */
  other_choice: boolean;
}

export interface ToolCallDelta {
  readonly index: number;
  readonly id: string | null;
  readonly name: string | null;
  readonly arguments: string;
}

/**
 * A fresh reader is made for each response (protocols with state between events keep it there). The delta that it returns
 * may be the same object each time: it is valid until the next call.
 */
export interface ResponseReader {
  /**
   * One event. `event` is the SSE event name (`message` if none). `data` is the joined data lines.
   * Returns `null` for data that is not of this protocol (the caller makes it `bad_payload`).
   */
  event(event: string, data: string): Delta | null;
  /** A whole non-streamed JSON body. */
  body(text: string): Delta | null;
}

export type Framing = "sse" | "ndjson";

export interface Protocol {
  /** `openai`, `openai-chat`, ... as in `--backend`. */
  readonly name: string;
  readonly title: string;
  readonly defaultPath: string;
  readonly framing: Framing;
  /** Which prompts can be expressed without change; others are converted by prompt/ (ids → text, text → messages). */
  readonly prompts: readonly ("text" | "ids" | "messages")[];
  /** Builds the request. Throws a `UserError` for what the protocol cannot express. */
  request(request: ModelRequest): HttpRequest;
  reader(): ResponseReader;
  /**
   * An event that carries only a text tells the same whatever came before it, so that one which differs from an earlier one
   * in nothing else need not be parsed (stream/event-skimmer.ts).
   */
  readonly independentEvents?: boolean;
  /** The protocol has no end event: a complete body with at least one event is a complete answer. */
  readonly endsWithBody?: boolean;
  /** The header that carries an API key; `Authorization: Bearer <key>` where it is left out. */
  authorization?(key: string): readonly [name: string, value: string];
}

/** An empty delta. */
export function emptyDelta(): Delta {
  return {
    text: null,
    reasoning: null,
    tool_calls: null,
    finish_reason: null,
    done: false,
    error: null,
    prompt_tokens: null,
    output_tokens: null,
    cached_tokens: null,
    reasoning_tokens: null,
    chunk_tokens: null,
    engine: null,
    note: null,
    other_choice: false,
  };
}

/** Empties a delta that is used again. */
export function clearDelta(delta: Delta): void {
  delta.text = null;
  delta.reasoning = null;
  delta.tool_calls = null;
  delta.finish_reason = null;
  delta.done = false;
  delta.error = null;
  delta.prompt_tokens = null;
  delta.output_tokens = null;
  delta.cached_tokens = null;
  delta.reasoning_tokens = null;
  delta.chunk_tokens = null;
  delta.engine = null;
  delta.note = null;
  delta.other_choice = false;
}
