/** From a {@link ModelRequest} to what an engine takes. `params` override, as they do in the body of an HTTP request. */
import type { JsonObject, JsonValue } from "../../core/json.ts";
import type { ModelRequest } from "../client.ts";
import type { EngineRequest, Refusal } from "./engine.ts";

/** Fields of HTTP bodies that say nothing to an engine in this process. */
const OF_HTTP = ["model", "prompt", "messages", "stream_options", "user", "request_id"];

export function engineRequest(request: ModelRequest): EngineRequest | Refusal {
  const fields: Record<string, JsonValue> = {
    ...(request.temperature === null ? {} : { temperature: request.temperature }),
    ...request.params,
  };
  const take = (key: string): JsonValue | undefined => {
    const value = fields[key];
    delete fields[key];
    return value;
  };
  for (const key of OF_HTTP) delete fields[key];
  const limit = take("max_completion_tokens") ?? take("max_tokens") ?? request.max_tokens;
  delete fields["max_tokens"];
  if (limit !== null && !(typeof limit === "number" && Number.isSafeInteger(limit) && limit >= 1))
    return { refusal: `max_tokens must be a whole number of at least 1, got ${JSON.stringify(limit)}` };
  const ignoreEos = take("ignore_eos");
  const stream = take("stream");
  for (const key of ["n", "best_of"]) {
    const value = take(key);
    if (value !== undefined && value !== null && value !== 1)
      return { refusal: `${key} must be 1: an engine in this process gives one answer to a request` };
  }
  const beams = take("use_beam_search");
  if (beams !== undefined && beams !== false)
    return { refusal: "use_beam_search: an engine in this process has no beam search" };
  if (request.prompt.kind === "ids" && !request.prompt.ids.every(isTokenId))
    return { refusal: "a prompt of token ids must be whole numbers from 0" };
  return {
    request_id: request.request_id,
    prompt: request.prompt,
    max_tokens: limit,
    force_length: limit !== null && (ignoreEos === undefined ? request.force_length : ignoreEos === true),
    stream: typeof stream === "boolean" ? stream : request.stream,
    keep_text: request.keep_text,
    fields: fields as JsonObject,
  };
}

export function isRefusal(value: object): value is Refusal {
  return "refusal" in value;
}

function isTokenId(id: number): boolean {
  return Number.isSafeInteger(id) && id >= 0;
}
