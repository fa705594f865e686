/** Ollama: `POST /api/generate` for text, `POST /api/chat` for messages; a JSON line an event. It cannot be made to ignore the end token. */
import { UserError } from "../../core/failure.ts";
import type { JsonObject } from "../../core/json.ts";
import type { ModelRequest } from "../client.ts";
import type { Delta, HttpRequest, Protocol, ResponseReader, ToolCallDelta } from "../protocol.ts";
import { asCount, asFields, asTime, asText, type Fields, JsonReader } from "./json-event.ts";

const GENERATE = "/api/generate";
const NS_PER_MS = 1e6;

class OllamaReader extends JsonReader {
  #calls = 0;

  protected override take(object: Fields, delta: Delta): boolean {
    const message = asFields(object["message"]);
    if (message === null && asText(object["response"]) === null && object["done"] === undefined) return false;
    delta.text = asText(message?.["content"]) ?? asText(object["response"]);
    delta.reasoning = asText(message?.["thinking"]) ?? asText(object["thinking"]);
    const calls = message?.["tool_calls"];
    if (Array.isArray(calls) && calls.length > 0) delta.tool_calls = calls.map((call) => this.#call(call));
    if (object["done"] !== true) return true;
    delta.finish_reason = asText(object["done_reason"]) ?? "stop";
    delta.done = true;
    delta.prompt_tokens = asCount(object["prompt_eval_count"]);
    delta.output_tokens = asCount(object["eval_count"]);
    const [prefill, decode] = [asTime(object["prompt_eval_duration"]), asTime(object["eval_duration"])];
    if (prefill !== null || decode !== null) {
      delta.engine = {
        queue_ms: null,
        prefill_ms: prefill === null ? null : prefill / NS_PER_MS,
        decode_ms: decode === null ? null : decode / NS_PER_MS,
        cached_tokens: null,
        source: "ollama durations",
      };
    }
    return true;
  }

  /** Calls come whole, never in fragments. */
  #call(value: unknown): ToolCallDelta {
    const call = asFields(value);
    const func = asFields(call?.["function"]);
    return {
      index: this.#calls++,
      id: asText(call?.["id"]),
      name: asText(func?.["name"]),
      arguments: JSON.stringify(func?.["arguments"] ?? {}),
    };
  }
}

export const ollama: Protocol = {
  name: "ollama",
  title: "Ollama",
  defaultPath: GENERATE,
  framing: "ndjson",
  prompts: ["text", "messages"],
  request(request: ModelRequest): HttpRequest {
    const { prompt, model, max_tokens, temperature, stream } = request;
    const options: JsonObject = {
      ...(max_tokens === null ? {} : { num_predict: max_tokens }),
      ...(temperature === null ? {} : { temperature }),
    };
    switch (prompt.kind) {
      case "text":
        // Raw: the text goes to the model as it is, without a template around it.
        return {
          method: "POST",
          path: GENERATE,
          body: { model, prompt: prompt.text, raw: true, stream, options },
        };
      case "messages": {
        const tools = prompt.tools === null ? {} : { tools: prompt.tools };
        return {
          method: "POST",
          path: "/api/chat",
          body: { model, messages: prompt.messages, ...tools, stream, options },
        };
      }
      case "ids":
        throw new UserError("Ollama takes text or messages, not token ids");
    }
  },
  reader: (): ResponseReader => new OllamaReader(),
};
