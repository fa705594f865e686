/** Body fields that the OpenAI protocols share. */
import type { JsonObject } from "../../core/json.ts";
import type { ModelRequest } from "../client.ts";

/**
 * Length, sampling and streaming. A forced length is said in the words of vLLM, FastDeploy and SGLang: `min_tokens` equal to
 * `max_tokens`, and `ignore_eos`.
 */
export function openaiFields(request: ModelRequest): JsonObject {
  const { max_tokens, temperature, stream, force_length } = request;
  return {
    ...(max_tokens === null ? {} : { max_tokens }),
    ...(temperature === null ? {} : { temperature }),
    ...(force_length && max_tokens !== null ? { min_tokens: max_tokens, ignore_eos: true } : {}),
    stream,
    ...(stream ? { stream_options: { include_usage: true } } : {}),
  };
}
