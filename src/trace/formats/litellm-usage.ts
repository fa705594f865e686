/** Usage as OpenAI completions (and LiteLLM, for every provider) tell it: prompt tokens hold the cached ones. */
import type { Tokens } from "../../core/units.ts";
import { isObject } from "../openai-messages.ts";

export interface CompletionUsage {
  readonly prompt_tokens: Tokens | null;
  readonly output_tokens: Tokens | null;
  readonly cached_tokens: Tokens | null;
}

/** Counts of a `usage` object; what is missing or no count is `null`. */
export function completionUsage(usage: unknown): CompletionUsage {
  if (!isObject(usage)) return { prompt_tokens: null, output_tokens: null, cached_tokens: null };
  const details = isObject(usage["prompt_tokens_details"]) ? usage["prompt_tokens_details"] : {};
  return {
    prompt_tokens: count(usage["prompt_tokens"]) ?? count(usage["input_tokens"]),
    output_tokens: count(usage["completion_tokens"]) ?? count(usage["output_tokens"]),
    cached_tokens:
      count(details["cached_tokens"]) ??
      count(usage["cache_read_input_tokens"]) ??
      count(usage["prompt_cache_hit_tokens"]),
  };
}

function count(value: unknown): Tokens | null {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : null;
}
