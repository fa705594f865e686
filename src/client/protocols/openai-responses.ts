/** OpenAI responses: `POST /v1/responses`, a stream of named events. */
import { UserError } from "../../core/failure.ts";
import type { JsonObject } from "../../core/json.ts";
import type { ModelRequest } from "../client.ts";
import type { Delta, HttpRequest, Protocol, ResponseReader, ToolCallDelta } from "../protocol.ts";
import { errorMessage } from "../server-message.ts";
import { asCount, asFields, asText, bareError, type Fields, JsonReader } from "./json-event.ts";

const PATH = "/v1/responses";

class ResponsesReader extends JsonReader {
  protected override take(object: Fields, delta: Delta, streamed: boolean): boolean {
    if (!streamed) return this.#whole(object, delta);
    const type = asText(object["type"]);
    if (type === null) {
      delta.error = bareError(object);
      return delta.error !== null;
    }
    switch (type) {
      case "response.output_text.delta":
      case "response.refusal.delta":
        delta.text = asText(object["delta"]);
        break;
      case "response.reasoning_text.delta":
      case "response.reasoning.delta":
      case "response.reasoning_summary_text.delta":
        delta.reasoning = asText(object["delta"]);
        break;
      case "response.output_item.added":
        readCall(object["item"], asCount(object["output_index"]), "", delta);
        break;
      case "response.function_call_arguments.delta":
      case "response.mcp_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
      case "response.code_interpreter_call_code.delta":
        delta.tool_calls = [fragment(asCount(object["output_index"]), asText(object["delta"]) ?? "")];
        break;
      case "response.audio.delta":
      case "response.audio.transcript.delta":
        delta.other_choice = (asText(object["delta"]) ?? "") !== "";
        break;
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
      case "response.cancelled":
        finish(asFields(object["response"]) ?? {}, delta);
        delta.done = true;
        break;
      case "error":
        delta.error = errorMessage(object) ?? "error";
        break;
    }
    return true;
  }

  #whole(object: Fields, delta: Delta): boolean {
    const output = object["output"];
    if (!Array.isArray(output)) {
      delta.error = bareError(object);
      return delta.error !== null;
    }
    output.forEach((value, index) => {
      const item = asFields(value);
      if (item === null) return;
      const text = contentText(item["content"]);
      if (item["type"] === "message") delta.text = (delta.text ?? "") + text;
      else if (item["type"] === "reasoning") delta.reasoning = (delta.reasoning ?? "") + text;
      else readCall(item, index, asText(item["arguments"]) ?? "", delta);
    });
    finish(object, delta);
    return true;
  }
}

function readCall(value: unknown, index: number | null, text: string, delta: Delta): void {
  const item = asFields(value);
  if (item?.["type"] !== "function_call") return;
  const call = {
    ...fragment(index, text),
    id: asText(item["call_id"]) ?? asText(item["id"]),
    name: asText(item["name"]),
  };
  delta.tool_calls = [...(delta.tool_calls ?? []), call];
}

function fragment(index: number | null, text: string): ToolCallDelta {
  return { index: index ?? 0, id: null, name: null, arguments: text };
}

function contentText(content: unknown): string {
  if (!Array.isArray(content)) return "";
  return content
    .map((value) => {
      const part = asFields(value);
      return asText(part?.["text"]) ?? asText(part?.["refusal"]) ?? "";
    })
    .join("");
}

/** Status and usage of the response object. */
function finish(response: Fields, delta: Delta): void {
  const status = asText(response["status"]) ?? "completed";
  if (status === "failed" || status === "cancelled") {
    delta.error = errorMessage(response["error"]) ?? `the response was ${status}`;
  }
  const reason = asText(asFields(response["incomplete_details"])?.["reason"]);
  delta.finish_reason =
    status === "completed" ? "stop" : reason === "max_output_tokens" ? "length" : (reason ?? status);
  const usage = asFields(response["usage"]);
  if (usage === null) return;
  delta.prompt_tokens = asCount(usage["input_tokens"]);
  delta.output_tokens = asCount(usage["output_tokens"]);
  delta.cached_tokens = asCount(asFields(usage["input_tokens_details"])?.["cached_tokens"]);
  delta.reasoning_tokens = asCount(asFields(usage["output_tokens_details"])?.["reasoning_tokens"]);
}

export const openaiResponses: Protocol = {
  name: "openai-responses",
  title: "OpenAI responses",
  defaultPath: PATH,
  framing: "sse",
  prompts: ["text", "messages"],
  request(request: ModelRequest): HttpRequest {
    const { prompt, model, max_tokens, temperature, stream } = request;
    if (prompt.kind === "ids")
      throw new UserError("the responses protocol takes text or messages, not token ids");
    const input = prompt.kind === "text" ? prompt.text : prompt.messages.flatMap(inputItems);
    const tools =
      prompt.kind === "messages" && prompt.tools !== null ? { tools: prompt.tools.map(flatTool) } : {};
    return {
      method: "POST",
      path: PATH,
      body: {
        model,
        input,
        ...tools,
        ...(max_tokens === null ? {} : { max_output_tokens: max_tokens }),
        ...(temperature === null ? {} : { temperature }),
        store: false,
        stream,
      },
    };
  },
  reader: (): ResponseReader => new ResponsesReader(),
};

/** A chat message as input items: calls and their results are items of their own here. */
function inputItems(message: JsonObject): JsonObject[] {
  const { role, content, tool_calls, tool_call_id } = message;
  if (role === "tool") {
    const output = typeof content === "string" ? content : JSON.stringify(content ?? "");
    return [{ type: "function_call_output", call_id: tool_call_id ?? "", output }];
  }
  const items: JsonObject[] =
    content === null || content === undefined || content === "" ? [] : [{ role, content }];
  for (const value of Array.isArray(tool_calls) ? tool_calls : []) {
    const call = asFields(value) ?? {};
    const func = asFields(call["function"]) ?? {};
    items.push({
      type: "function_call",
      call_id: asText(call["id"]) ?? "",
      name: asText(func["name"]) ?? "",
      arguments: asText(func["arguments"]) ?? "",
    });
  }
  return items;
}

/** `{type, function: {…}}` of chat is `{type, …}` here. */
function flatTool(tool: JsonObject): JsonObject {
  const func = tool["function"];
  if (typeof func !== "object" || func === null || Array.isArray(func)) return tool;
  return { type: "function", ...(func as JsonObject) };
}
