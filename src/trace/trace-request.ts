/** The one in-memory form of every trace format: requests grouped into jobs. Readers produce it; plan/ consumes it. */
import type { JsonObject } from "../core/json.ts";
import type { Ms, Tokens } from "../core/units.ts";

/** The name of a prefix block. A string where the file's number exceeds 2^53. */
export type BlockId = number | string;

export interface TextPrompt {
  readonly kind: "text";
  readonly text: string;
}

export interface IdsPrompt {
  readonly kind: "ids";
  readonly ids: readonly number[];
}

export interface MessagesPrompt {
  readonly kind: "messages";
  /** OpenAI chat messages, as recorded. */
  readonly messages: readonly JsonObject[];
  readonly tools: readonly JsonObject[] | null;
}

/** Only the length is known, perhaps with the names of its prefix blocks; the text is made up when it is sent. */
export interface LengthPrompt {
  readonly kind: "length";
  /** The whole prompt, history and cached tokens counted in. */
  readonly tokens: Tokens;
  /** Prefix blocks in order. Equal (scope, id) = equal tokens. They cover ceil or floor of tokens ÷ block_tokens. */
  readonly hash_ids: readonly BlockId[] | null;
  readonly block_tokens: Tokens | null;
  /** Where the ids are valid: `null` = the whole trace; else a name (a file, a job) that keeps equal ids apart. */
  readonly hash_scope: string | null;
}

export type TracePrompt = TextPrompt | IdsPrompt | MessagesPrompt | LengthPrompt;

/** What the source measured when this request really ran. `sent_ms`… are on the trace's own time axis. */
export interface Recorded {
  readonly sent_ms: Ms | null;
  readonly first_token_ms: Ms | null;
  readonly end_ms: Ms | null;
  readonly prompt_tokens: Tokens | null;
  readonly output_tokens: Tokens | null;
  readonly cached_tokens: Tokens | null;
}

export interface ToolCall {
  readonly name: string;
  readonly ms: Ms;
}

/** One request to the model. Fields a source does not tell are `null`. */
export interface TraceRequest {
  /** Unique in the trace. */
  readonly request_id: string;
  /** A request that belongs to nobody is a job of one turn. */
  readonly job_id: string;
  /** Position in the job; equal turns run in parallel; `null` where the source does not tell. */
  readonly turn: number | null;
  /** On the trace's axis; the earliest of a trace need not be 0 here (plan/ shifts it). */
  readonly arrival_ms: Ms | null;
  /** Explicit parents (request ids of the same job); `null` = from `turn` and arrival; `[]` = a root. */
  readonly after: readonly string[] | null;
  /** Gap between the end of the last parent and this request, tool time included. `null` = not told. */
  readonly think_ms: Ms | null;
  readonly tool: readonly ToolCall[] | null;
  readonly prompt: TracePrompt;
  /** A cap on the output, as the agent set it. */
  readonly max_tokens: Tokens | null;
  /** What the output is expected to be, where nothing was recorded. */
  readonly expected_output_tokens: Tokens | null;
  readonly temperature: number | null;
  /** Further body fields, passed through. */
  readonly params: JsonObject | null;
  /** Budget of the job; counts on its first turn. */
  readonly budget_ms: Ms | null;
  /** Name of the (sub-)agent. */
  readonly agent: string | null;
  readonly recorded: Recorded | null;
  /** The assistant's recorded answer (text), where the source has it. */
  readonly response_text?: string | null;
  readonly metadata: JsonObject | null;
}

/** Whole prompt as recorded, tokens; `null` where nothing tells. */
export function recordedPromptTokens(request: TraceRequest): Tokens | null {
  if (request.recorded?.prompt_tokens != null) return request.recorded.prompt_tokens;
  if (request.prompt.kind === "length") return request.prompt.tokens;
  if (request.prompt.kind === "ids") return request.prompt.ids.length;
  return null;
}

/** Output length that a faithful replay forces: recorded, else expected; `null` = free up to `max_tokens`. */
export function plannedOutputTokens(request: TraceRequest): Tokens | null {
  return request.recorded?.output_tokens ?? request.expected_output_tokens;
}
