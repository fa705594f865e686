/** llama.cpp's own `POST /completion`: text or token ids, counts and times of its own in the last event. */
import { UserError } from "../../core/failure.ts";
import type { ModelRequest } from "../client.ts";
import type { Delta, HttpRequest, Protocol, ResponseReader } from "../protocol.ts";
import { readTimings } from "./engine-times.ts";
import { asCount, asText, type Fields, JsonReader } from "./json-event.ts";

const PATH = "/completion";
/** Its words for why it stopped, in those of the other protocols. */
const REASONS: Readonly<Record<string, string>> = { limit: "length", eos: "stop", word: "stop" };

class CompletionReader extends JsonReader {
  protected override take(object: Fields, delta: Delta, streamed: boolean): boolean {
    const text = asText(object["content"]);
    if (text === null) return false;
    // The last event of some versions repeats nothing; without streaming it holds the whole text.
    delta.text = text;
    const tokens = object["tokens"];
    if (Array.isArray(tokens) && (tokens.length > 0 || text === "")) delta.chunk_tokens = tokens.length;
    if (object["stop"] !== true && streamed) return true;
    readTimings(object, delta);
    delta.prompt_tokens = asCount(object["tokens_evaluated"]) ?? delta.prompt_tokens;
    delta.output_tokens = asCount(object["tokens_predicted"]) ?? delta.output_tokens;
    delta.finish_reason = reasonOf(object);
    delta.done = true;
    return true;
  }
}

function reasonOf(object: Fields): string {
  const type = asText(object["stop_type"]);
  if (type !== null && type !== "none") return REASONS[type] ?? type;
  return object["stopped_limit"] === true ? "length" : "stop";
}

export const llamaServer: Protocol = {
  name: "llama-server",
  title: "llama.cpp completion",
  defaultPath: PATH,
  framing: "sse",
  prompts: ["text", "ids"],
  request(request: ModelRequest): HttpRequest {
    const { prompt, max_tokens, temperature, force_length, stream } = request;
    if (prompt.kind === "messages") {
      throw new UserError("llama.cpp's completion takes text or token ids, not chat messages", {
        hint: "use --backend openai-chat for traces with messages",
      });
    }
    return {
      method: "POST",
      path: PATH,
      body: {
        prompt: prompt.kind === "text" ? prompt.text : prompt.ids,
        ...(max_tokens === null ? {} : { n_predict: max_tokens }),
        ...(temperature === null ? {} : { temperature }),
        ...(force_length && max_tokens !== null ? { ignore_eos: true } : {}),
        cache_prompt: true,
        return_tokens: true,
        stream,
      },
    };
  },
  reader: (): ResponseReader => new CompletionReader(),
};
