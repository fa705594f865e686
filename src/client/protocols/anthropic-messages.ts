/** Anthropic messages: `POST /v1/messages`, as Anthropic, vLLM, llama.cpp and gateways serve it. */
import { UserError } from "../../core/failure.ts";
import type { ModelRequest } from "../client.ts";
import type { Delta, HttpRequest, Protocol, ResponseReader, ToolCallDelta } from "../protocol.ts";
import { errorMessage } from "../server-message.ts";
import { anthropicPrompt } from "./anthropic-prompt.ts";
import { asCount, asFields, asText, bareError, type Fields, JsonReader } from "./json-event.ts";

const PATH = "/v1/messages";
/** The protocol requires a cap. */
const DEFAULT_MAX_TOKENS = 4096;

class MessagesReader extends JsonReader {
  readonly #prompt = new PromptCounts();

  protected override take(object: Fields, delta: Delta, streamed: boolean): boolean {
    if (!streamed) return whole(object, delta, this.#prompt);
    const index = asCount(object["index"]) ?? 0;
    switch (object["type"]) {
      case "message_start":
        // Its output count is a placeholder.
        this.#prompt.read(asFields(object["message"])?.["usage"], delta);
        break;
      case "content_block_start": {
        const block = asFields(object["content_block"]);
        if (block !== null) readBlock(block, index, inputOf(block, ""), delta);
        break;
      }
      case "content_block_delta": {
        const part = asFields(object["delta"]);
        delta.text = asText(part?.["text"]);
        delta.reasoning = asText(part?.["thinking"]);
        const json = asText(part?.["partial_json"]);
        if (json !== null && json !== "")
          delta.tool_calls = [{ index, id: null, name: null, arguments: json }];
        break;
      }
      case "message_delta":
        delta.finish_reason = asText(asFields(object["delta"])?.["stop_reason"]);
        this.#prompt.read(object["usage"], delta);
        delta.output_tokens = asCount(asFields(object["usage"])?.["output_tokens"]);
        break;
      case "message_stop":
        delta.done = true;
        break;
      case "error":
        delta.error = errorMessage(object) ?? "error";
        break;
      case "content_block_stop":
      case "ping":
        break;
      default:
        if (asText(object["type"]) === null) return false;
        delta.note = `unknown event "${asText(object["type"])}"`;
    }
    return true;
  }
}

function whole(object: Fields, delta: Delta, prompt: PromptCounts): boolean {
  const content = object["content"];
  if (!Array.isArray(content)) {
    delta.error = bareError(object);
    return delta.error !== null;
  }
  content.forEach((value, index) => {
    const block = asFields(value);
    if (block !== null) readBlock(block, index, inputOf(block, "{}"), delta);
  });
  delta.finish_reason = asText(object["stop_reason"]);
  prompt.read(object["usage"], delta);
  delta.output_tokens = asCount(asFields(object["usage"])?.["output_tokens"]);
  return true;
}

/** The arguments of a call that a block has in itself; a stream's block mostly has none yet, and the deltas bring them. */
function inputOf(block: Fields, none: string): string {
  const input = asFields(block["input"]);
  return input === null || Object.keys(input).length === 0 ? none : JSON.stringify(input);
}

function readBlock(block: Fields, index: number, input: string, delta: Delta): void {
  const text = asText(block["text"]);
  const thinking = asText(block["thinking"]);
  if (text !== null) delta.text = (delta.text ?? "") + text;
  if (thinking !== null) delta.reasoning = (delta.reasoning ?? "") + thinking;
  // Calls that the server answers itself (`server_tool_use`) are the model's output too.
  if (asText(block["type"])?.endsWith("tool_use") !== true) return;
  const call: ToolCallDelta = {
    index,
    id: asText(block["id"]),
    name: asText(block["name"]),
    arguments: input,
  };
  delta.tool_calls = [...(delta.tool_calls ?? []), call];
}

/**
 * The prompt is what was computed, read from the cache and written to it. Each event may tell only some of the three, or 0 for
 * those that an earlier one has told.
 */
class PromptCounts {
  #input: number | null = null;
  #read: number | null = null;
  #written: number | null = null;

  read(value: unknown, delta: Delta): void {
    const usage = asFields(value);
    if (usage === null) return;
    this.#input = asCount(usage["input_tokens"]) || this.#input;
    this.#read =
      asCount(usage["cache_read_input_tokens"]) || (this.#read ?? asCount(usage["cache_read_input_tokens"]));
    this.#written = asCount(usage["cache_creation_input_tokens"]) || this.#written;
    const told = [this.#input, this.#read, this.#written];
    if (told.some((count) => count !== null))
      delta.prompt_tokens = told.reduce<number>((sum, n) => sum + (n ?? 0), 0);
    delta.cached_tokens = this.#read;
  }
}

export const anthropicMessages: Protocol = {
  name: "anthropic-messages",
  title: "Anthropic messages",
  defaultPath: PATH,
  framing: "sse",
  prompts: ["messages"],
  authorization: (key) => ["x-api-key", key],
  request(request: ModelRequest): HttpRequest {
    const { prompt, model, max_tokens, temperature, stream } = request;
    if (prompt.kind === "ids")
      throw new UserError("the messages protocol takes messages or text, not token ids");
    return {
      method: "POST",
      path: PATH,
      headers: { "anthropic-version": "2023-06-01" },
      body: {
        model,
        ...anthropicPrompt(prompt),
        max_tokens: max_tokens ?? DEFAULT_MAX_TOKENS,
        ...(temperature === null ? {} : { temperature }),
        stream,
      },
    };
  },
  reader: (): ResponseReader => new MessagesReader(),
};
