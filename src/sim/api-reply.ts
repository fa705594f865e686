/** The OpenAI reply objects, as vLLM writes them. Model and id are escaped once; words need no escape. */
import type { ApiRequest, Endpoint, Refusal } from "./api-request.ts";
import type { SequenceEnd } from "./engine.ts";
import { answerText } from "./output-words.ts";
import { TOKEN_END } from "./tokenizer.ts";

interface Usage {
  readonly prompt_tokens: number;
  readonly total_tokens: number;
  readonly completion_tokens: number;
  readonly prompt_tokens_details?: { readonly cached_tokens: number };
}

function usage(prompt_tokens: number, completion_tokens: number, cached_tokens: number | null): Usage {
  return {
    prompt_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    completion_tokens,
    ...(cached_tokens === null ? {} : { prompt_tokens_details: { cached_tokens } }),
  };
}

/**
 * Our one extension: the exact times inside the engine, ms, in the last chunk (the usage chunk where usage was asked
 * for, else the one with the finish reason) and in a reply that is not streamed.
 */
function engineTimes(end: SequenceEnd): Record<string, number> {
  return {
    queue_ms: end.queue_ms,
    prefill_ms: end.prefill_ms,
    decode_ms: end.decode_ms,
    cached_tokens: end.cached_tokens,
    preemptions: end.preemptions,
  };
}

/** Writes the events of one stream. */
export class StreamWriter {
  readonly #asked: ApiRequest;
  readonly #chat: boolean;
  readonly #head: string;
  #output = 0;

  constructor(endpoint: Endpoint, id: string, created: number, asked: ApiRequest) {
    this.#asked = asked;
    this.#chat = endpoint === "chat";
    const object = this.#chat ? "chat.completion.chunk" : "text_completion";
    this.#head = `data: {"id":${JSON.stringify(id)},"object":"${object}","created":${created},"model":${JSON.stringify(asked.model)},"choices":[`;
  }

  /** The events that one token makes: for a chat's first token also the role, at the end also usage and `[DONE]`. */
  token(id: number, end: SequenceEnd | null): string {
    const asked = this.#asked;
    const first = this.#output === 0;
    let events = "";
    if (first && this.#chat) {
      const prompt = asked.prompt_ids === null ? "" : `,"prompt_token_ids":[${asked.prompt_ids.join(",")}]`;
      events += `${this.#head}{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]${prompt}${this.#usage()}}\n\n`;
    }
    this.#output++;
    const text = answerText(id);
    const reason = end === null ? "null" : `"${end.reason}"`;
    const ids = asked.prompt_ids === null ? "" : `,"token_ids":[${id}]`;
    const prompt =
      first && !this.#chat && asked.prompt_ids !== null
        ? `,"prompt_token_ids":[${asked.prompt_ids.join(",")}]`
        : "";
    const payload = this.#chat
      ? `"delta":{"content":"${text}"},"logprobs":null,"finish_reason":${reason}`
      : `"text":"${text}","logprobs":null,"finish_reason":${reason},"stop_reason":null`;
    const last =
      end !== null && !asked.include_usage ? `,"reprise_sim":${JSON.stringify(engineTimes(end))}` : "";
    events += `${this.#head}{"index":0,${payload}${ids}${prompt}}]${this.#usage()}${last}}\n\n`;
    if (end === null) return events;
    if (asked.include_usage) {
      const total = JSON.stringify(usage(end.prompt_tokens, end.output_tokens, end.cached_tokens));
      events += `${this.#head}],"usage":${total},"reprise_sim":${JSON.stringify(engineTimes(end))}}\n\n`;
    }
    return `${events}data: [DONE]\n\n`;
  }

  #usage(): string {
    if (!this.#asked.continuous_usage) return "";
    return `,"usage":${JSON.stringify(usage(this.#asked.request.prompt.tokens, this.#output, null))}`;
  }
}

/** A whole reply, not streamed. */
export function wholeReply(
  endpoint: Endpoint,
  id: string,
  created: number,
  asked: ApiRequest,
  ids: readonly number[],
  end: SequenceEnd,
): Record<string, unknown> {
  const text = ids.map((token) => (token === TOKEN_END ? "" : answerText(token))).join("");
  const chat = endpoint === "chat";
  const choice = {
    index: 0,
    ...(chat ? { message: { role: "assistant", content: text, tool_calls: [] } } : { text }),
    logprobs: null,
    finish_reason: end.reason,
    stop_reason: null,
    ...(asked.prompt_ids === null ? {} : { token_ids: ids }),
    ...(asked.prompt_ids === null || chat ? {} : { prompt_token_ids: [...asked.prompt_ids] }),
  };
  return {
    id,
    object: chat ? "chat.completion" : "text_completion",
    created,
    model: asked.model,
    choices: [choice],
    usage: usage(end.prompt_tokens, end.output_tokens, end.cached_tokens),
    ...(asked.prompt_ids === null || !chat ? {} : { prompt_token_ids: [...asked.prompt_ids] }),
    reprise_sim: engineTimes(end),
  };
}

/** OpenAI's error object. */
export function errorReply(refusal: Refusal): Record<string, unknown> {
  const { message, type, param, status } = refusal;
  return { error: { message, type, param, code: status } };
}
