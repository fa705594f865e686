/**
 * The body of a completions or chat request → what the engine is asked, or the refusal a vLLM server would give. Used by
 * the HTTP server and by the in-process client, so that both refuse the same.
 *
 * Fields that shape an answer's wording (`temperature`, `top_p`, `stop`, `logprobs`, penalties, `tool_choice`, ...) are
 * accepted, checked where vLLM checks them, and without effect: the words are made up.
 */
import { z } from "zod";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { renderChat } from "./chat-template.ts";
import type { ResolvedSim } from "./config.ts";
import type { SimRequest } from "./engine.ts";
import { digestPrompt, type PromptDigest } from "./prompt-digest.ts";
import type { PromptDigester } from "./prompt-digester.ts";
import { SIM_VOCABULARY, encode } from "./tokenizer.ts";

export type Endpoint = "completions" | "chat";

/** An error answer: an HTTP status and OpenAI's error object. */
export interface Refusal {
  readonly status: number;
  readonly type: string;
  readonly message: string;
  readonly param: string | null;
}

export interface ApiRequest {
  readonly request: SimRequest;
  readonly model: string;
  /** Only where they are to be returned: a long prompt is kept as its digest. */
  readonly prompt_ids: Int32Array | null;
  readonly stream: boolean;
  readonly include_usage: boolean;
  readonly continuous_usage: boolean;
}

const optionalInt = z.int().nullish();
const optionalBool = z.boolean().nullish();

const bodySchema = z.looseObject({
  model: z.string().nullish(),
  max_tokens: optionalInt,
  max_completion_tokens: optionalInt,
  min_tokens: z.int().nonnegative().nullish(),
  ignore_eos: optionalBool,
  n: z.int().min(1).nullish(),
  best_of: z.int().min(1).nullish(),
  use_beam_search: optionalBool,
  seed: optionalInt,
  temperature: z.number().nonnegative().nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  stream: optionalBool,
  stream_options: z
    .looseObject({ include_usage: optionalBool, continuous_usage_stats: optionalBool })
    .nullish(),
  return_token_ids: optionalBool,
  cache_salt: z.string().min(1).nullish(),
  tools: z.array(z.unknown()).nullish(),
});

/** vLLM's default cap of a completion. */
const DEFAULT_COMPLETION_TOKENS = 16;

function refuse(message: string, param: string | null = null, status = 400): Refusal {
  const type = status === 404 ? "NotFoundError" : "BadRequestError";
  return { status, type, message, param };
}

/** Whether a parsed request is a refusal. */
export function isRefusal(result: ApiRequest | Refusal): result is Refusal {
  return "status" in result;
}

/** Checks a model name: `null` = it is served here. */
export function refuseModel(model: string | null, names: readonly string[]): Refusal | null {
  if (model === null || names.includes(model)) return null;
  return refuse(`The model \`${model}\` does not exist.`, "model", 404);
}

/** Reads a request body. `names`: the model's name and its aliases; a request without a model gets the first. */
export function parseApiRequest(
  endpoint: Endpoint,
  body: unknown,
  id: string,
  engine: { readonly sim: ResolvedSim; readonly digester: PromptDigester },
  names: readonly string[],
): ApiRequest | Refusal {
  const { sim, digester } = engine;
  const parsed = bodySchema.safeParse(body);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const param = issue === undefined || issue.path.length === 0 ? null : issue.path.join(".");
    return refuse(`${param === null ? "body" : param}: ${issue?.message ?? "invalid"}`, param);
  }
  const fields = parsed.data;
  const wrong = refuseModel(fields.model ?? null, names);
  if (wrong !== null) return wrong;
  for (const name of ["n", "best_of"] as const) {
    if ((fields[name] ?? 1) > 1) return refuse(`the simulator answers once: ${name} must be 1`, name);
  }
  if (fields.use_beam_search === true) return refuse("the simulator has no beam search", "use_beam_search");
  const stream = fields.stream ?? false;
  if (fields.stream_options != null && !stream) {
    return refuse("Stream options can only be defined when `stream=True`.", "stream_options");
  }
  const prompt = endpoint === "chat" ? chatPrompt(fields) : completionPrompt(fields);
  if ("status" in prompt) return prompt;
  const salt = fields.cache_salt ?? null;
  const digest: PromptDigest =
    "text" in prompt
      ? digester.digest(prompt.text, prompt.specials, salt)
      : digestPrompt(prompt, sim.config.block_size, salt);

  const room = sim.max_model_len - digest.tokens;
  const asked = (endpoint === "chat" ? fields.max_completion_tokens : null) ?? fields.max_tokens ?? null;
  if (asked !== null && asked < 1)
    return refuse(`max_tokens must be at least 1, got ${asked}.`, "max_tokens");
  const max_tokens = asked ?? (endpoint === "chat" ? Math.max(1, room) : DEFAULT_COMPLETION_TOKENS);
  const min_tokens = fields.min_tokens ?? 0;
  if (min_tokens > max_tokens) {
    return refuse(`min_tokens must be at most max_tokens=${max_tokens}, got ${min_tokens}.`, "min_tokens");
  }
  if (max_tokens > room) {
    return refuse(
      `This model's maximum context length is ${sim.max_model_len} tokens. However, you requested ` +
        `${digest.tokens + max_tokens} tokens (${digest.tokens} in the prompt, ${max_tokens} for the output).`,
      "max_tokens",
    );
  }
  return {
    request: {
      id,
      prompt: digest,
      max_tokens,
      min_tokens,
      ignore_eos: fields.ignore_eos ?? false,
      chat: endpoint === "chat",
      seed: fields.seed ?? null,
    },
    model: fields.model ?? (names[0] as string),
    prompt_ids: fields.return_token_ids === true ? idsOf(prompt) : null,
    stream,
    include_usage: fields.stream_options?.include_usage ?? false,
    continuous_usage: fields.stream_options?.continuous_usage_stats ?? false,
  };
}

/** A prompt as text (a rendered chat has special characters), or as token ids. */
type Prompt = { readonly text: string; readonly specials: boolean } | Int32Array;

function idsOf(prompt: Prompt): Int32Array {
  return "text" in prompt ? encode(prompt.text, prompt.specials) : prompt;
}

function chatPrompt(fields: z.output<typeof bodySchema>): Prompt | Refusal {
  const messages = fields.messages;
  if (!Array.isArray(messages) || messages.length === 0) {
    return refuse("messages must be a list with at least one message", "messages");
  }
  const bad = messages.findIndex((message) => message === null || typeof message !== "object");
  if (bad >= 0) return refuse(`messages[${bad}] must be an object`, "messages");
  try {
    const tools = (fields.tools ?? null) as JsonValue[] | null;
    return { text: renderChat(messages as JsonObject[], tools), specials: true };
  } catch (error) {
    if (error instanceof TypeError) return refuse(error.message, "messages");
    throw error;
  }
}

function completionPrompt(fields: z.output<typeof bodySchema>): Prompt | Refusal {
  let prompt = fields.prompt;
  if (Array.isArray(prompt) && typeof prompt[0] !== "number") {
    if (prompt.length > 1) return refuse("the simulator takes one prompt a request", "prompt");
    prompt = prompt[0];
  }
  if (prompt === "") return refuse("The prompt cannot be empty", "prompt");
  if (typeof prompt === "string") return { text: prompt, specials: false };
  const ids = tokenIds(prompt);
  if (ids === null) return refuse("prompt must be a string or a list of token ids", "prompt");
  return ids.length === 0 ? refuse("The prompt cannot be empty", "prompt") : ids;
}

/** Token ids of this vocabulary, or `null` for anything else. */
export function tokenIds(value: unknown): Int32Array | null {
  if (!Array.isArray(value)) return null;
  const ids = new Int32Array(value.length);
  for (let i = 0; i < ids.length; i++) {
    const id: unknown = value[i];
    if (typeof id !== "number" || !Number.isInteger(id) || id < 0 || id >= SIM_VOCABULARY) return null;
    ids[i] = id;
  }
  return ids;
}
