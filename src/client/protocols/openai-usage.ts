/** `usage` of the OpenAI protocols, with the places where other servers put the same counts. */
import type { Delta } from "../protocol.ts";
import { asCount, asFields, type Fields } from "./json-event.ts";

/** Fills the counts that `usage` tells. `null`, or a usage without counts, tells nothing. */
export function readUsage(usage: unknown, delta: Delta): void {
  const fields = asFields(usage);
  if (fields === null) return;
  delta.prompt_tokens =
    asCount(fields["prompt_tokens"]) ?? asCount(fields["input_tokens"]) ?? delta.prompt_tokens;
  delta.output_tokens =
    asCount(fields["completion_tokens"]) ?? asCount(fields["output_tokens"]) ?? delta.output_tokens;
  const prompt = asFields(fields["prompt_tokens_details"]);
  const output = asFields(fields["completion_tokens_details"]);
  delta.cached_tokens =
    asCount(prompt?.["cached_tokens"]) ??
    asCount(fields["prompt_cache_hit_tokens"]) ??
    asCount(fields["cached_tokens"]) ??
    delta.cached_tokens;
  delta.reasoning_tokens =
    asCount(output?.["reasoning_tokens"]) ?? asCount(fields["reasoning_tokens"]) ?? delta.reasoning_tokens;
  // Some count reasoning beside the completion, and only their total tells: it is output all the same.
  const { prompt_tokens, output_tokens, reasoning_tokens } = delta;
  if (prompt_tokens === null || output_tokens === null || reasoning_tokens === null) return;
  if (asCount(fields["total_tokens"]) === prompt_tokens + output_tokens + reasoning_tokens)
    delta.output_tokens = output_tokens + reasoning_tokens;
}

/**
 * Tokens in this chunk of one choice, where it tells: ids (`return_token_ids`: vLLM puts them into the choice, FastDeploy into
 * the delta), else log probabilities.
 */
export function choiceTokens(choice: Fields): number | null {
  const delta = asFields(choice["delta"]);
  const ids =
    choice["token_ids"] ??
    choice["completion_token_ids"] ??
    delta?.["token_ids"] ??
    delta?.["completion_token_ids"];
  if (Array.isArray(ids)) return ids.length;
  const logprobs = asFields(choice["logprobs"]);
  if (logprobs === null) return null;
  const list = logprobs["content"] ?? logprobs["tokens"];
  return Array.isArray(list) && list.length > 0 ? list.length : null;
}
