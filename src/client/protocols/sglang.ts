/** SGLang's own `POST /generate`. Text or token ids; its stream repeats the whole text so far, unless the server is told not to. */
import { UserError } from "../../core/failure.ts";
import type { ModelRequest } from "../client.ts";
import type { Delta, HttpRequest, Protocol, ResponseReader } from "../protocol.ts";
import { errorMessage } from "../server-message.ts";
import { readMetaInfo } from "./engine-times.ts";
import { asFields, asText, type Fields, JsonReader } from "./json-event.ts";
import { finishReason } from "./openai-choices.ts";

const PATH = "/generate";

class SglangReader extends JsonReader {
  #text = "";
  #ids = 0;
  /** `true` once an event showed that the server sends only what is new. */
  #incremental = false;

  protected override take(object: Fields, delta: Delta, streamed: boolean): boolean {
    const meta = asFields(object["meta_info"]);
    const text = asText(object["text"]);
    const ids = object["output_ids"];
    if (meta === null && text === null && !Array.isArray(ids)) return false;
    if (meta !== null) {
      readMetaInfo(meta, delta);
      this.#finish(meta["finish_reason"], delta);
    }
    const idCount = Array.isArray(ids) ? ids.length : null;
    if (text !== null) delta.text = streamed ? this.#newText(text, idCount, delta) : text;
    // A server without a tokenizer sends ids alone: payload without text.
    else if (idCount !== null && idCount > 0) delta.other_choice = true;
    if (idCount !== null) this.#ids += idCount;
    return true;
  }

  /** Without streaming some versions answer with a list of one. */
  protected override takeOther(value: unknown, delta: Delta, streamed: boolean): boolean {
    const first = Array.isArray(value) && value.length === 1 ? asFields(value[0]) : null;
    return first !== null && !streamed && this.take(first, delta, streamed);
  }

  #newText(text: string, ids: number | null, delta: Delta): string {
    // A character that is not complete yet stands as U+FFFD at the end, and is another one in the next event.
    const complete = this.#text.replace(/\ufffd+$/, "");
    const known = complete !== "";
    const longer = known && text.startsWith(complete);
    // Fewer ids than tokens so far: the ids, and so the text, are only the new ones.
    const fewIds = ids !== null && this.#ids > 0 && delta.output_tokens !== null && ids < delta.output_tokens;
    if ((known && !longer) || fewIds) this.#incremental = true;
    if (this.#incremental) return text;
    const fresh = text.slice(complete.length);
    this.#text = text;
    return delta.finish_reason === null ? fresh.replace(/\ufffd+$/, "") : fresh;
  }

  #finish(reason: unknown, delta: Delta): void {
    delta.finish_reason = finishReason(reason);
    if (delta.finish_reason === "abort")
      delta.error = errorMessage(reason) ?? "the server aborted the request";
  }
}

export const sglang: Protocol = {
  name: "sglang",
  title: "SGLang generate",
  defaultPath: PATH,
  framing: "sse",
  prompts: ["text", "ids"],
  request(request: ModelRequest): HttpRequest {
    const { prompt, max_tokens, temperature, force_length, stream } = request;
    if (prompt.kind === "messages") {
      throw new UserError("SGLang's generate takes text or token ids, not chat messages", {
        hint: "use --backend openai-chat for traces with messages",
      });
    }
    return {
      method: "POST",
      path: PATH,
      body: {
        ...(prompt.kind === "text" ? { text: prompt.text } : { input_ids: prompt.ids }),
        sampling_params: {
          ...(temperature === null ? {} : { temperature }),
          ...(max_tokens === null ? {} : { max_new_tokens: max_tokens }),
          ...(force_length && max_tokens !== null ? { min_new_tokens: max_tokens, ignore_eos: true } : {}),
        },
        stream,
      },
    };
  },
  reader: (): ResponseReader => new SglangReader(),
};
