/**
 * What a model span says, under the names that conventions have used: gen_ai (new and old), span events, OpenLLMetry's and
 * OpenInference's numbered keys.
 */
import type { JsonObject, JsonValue } from "../../core/json.ts";
import { isObject, scalarText, toOpenAiMessages, toOpenAiTools } from "../openai-messages.ts";
import type { Span } from "./otel-spans.ts";

/** JSON text (at times encoded twice) as its value; other text and values as they are. */
export function decodeJson(value: unknown): unknown {
  let decoded = value;
  for (let depth = 0; depth < 3 && typeof decoded === "string"; depth++) {
    if (!/^\s*(["[{]|\\")/.test(decoded)) return decoded;
    try {
      decoded = JSON.parse(decoded) as unknown;
    } catch {
      return decoded;
    }
  }
  return decoded;
}

export function inputMessages(span: Span): JsonObject[] {
  const { attributes } = span;
  const system = toSystem(decodeJson(attributes["gen_ai.system_instructions"]));
  const told = firstMessages(
    attributes["gen_ai.input.messages"],
    attributes["gen_ai.prompt"],
    attributes["ai.prompt.messages"],
    numbered(attributes, "llm.input_messages", "message"),
    attributes["llm.input_messages"],
    numbered(attributes, "gen_ai.prompt", null),
    numbered(attributes, "llm.prompts", null),
    adkRequest(attributes),
    fromEvents(span, "input"),
    attributes["input.value"],
    attributes["traceloop.entity.input"],
    attributes["gen_ai.request.messages"],
  );
  return told.some((message) => message["role"] === "system") ? told : [...system, ...told];
}

export function outputMessages(span: Span): JsonObject[] {
  const { attributes } = span;
  return asAnswers(
    firstMessages(
      answers(attributes["gen_ai.output.messages"]),
      answers(attributes["gen_ai.output.text"]),
      aiSdkAnswer(attributes),
      numbered(attributes, "llm.output_messages", "message"),
      answers(attributes["gen_ai.completion"]),
      numbered(attributes, "gen_ai.completion", null),
      objectOf(attributes["gcp.vertex.agent.llm_response"]),
      fromEvents(span, "output"),
      answers(attributes["output.value"]),
      answers(attributes["traceloop.entity.output"]),
    ),
  );
}

export function toolDefinitions(span: Span): JsonObject[] | null {
  const { attributes } = span;
  const request = decodeJson(attributes["llm.invocation_parameters"]);
  const declared = adkSettings(span)["tools"];
  return (
    toOpenAiTools(decodeJson(attributes["gen_ai.tool.definitions"])) ??
    toOpenAiTools(decodeJson(attributes["gen_ai.request.tools"])) ??
    toOpenAiTools(listOf(attributes["ai.prompt.tools"])) ??
    toOpenAiTools(
      items(attributes, "llm.tools").map((tool) =>
        decodeJson(tool["tool.json_schema"] ?? tool["json_schema"]),
      ),
    ) ??
    toOpenAiTools(isObject(request) ? request["tools"] : undefined) ??
    toOpenAiTools(
      Array.isArray(declared)
        ? declared.flatMap((tool) => (isObject(tool) ? (tool["function_declarations"] ?? []) : []))
        : undefined,
    )
  );
}

/** Google's ADK has Gemini's request whole; `undefined` on spans of tools, where it is empty. */
function adkRequest(attributes: JsonObject): JsonObject | undefined {
  const request = objectOf(attributes["gcp.vertex.agent.llm_request"]);
  return Array.isArray(request?.["contents"]) ? request : undefined;
}

export function adkSettings({ attributes }: Span): JsonObject {
  const config = adkRequest(attributes)?.["config"];
  return isObject(config) ? config : {};
}

function objectOf(value: unknown): JsonObject | undefined {
  const decoded = decodeJson(value);
  return isObject(decoded) ? decoded : undefined;
}

/** Text, object and tool calls of an answer stand in attributes of their own. */
function aiSdkAnswer(attributes: JsonObject): unknown {
  const said = attributes["ai.response.text"] ?? attributes["ai.response.object"];
  const calls = listOf(attributes["ai.response.toolCalls"]);
  if (said === undefined && calls.length === 0) return undefined;
  return [{ role: "assistant", content: said ?? "", ...(calls.length > 0 ? { tool_calls: calls } : {}) }];
}

/** A list, as JSON text or not, of values as JSON text or not. */
function listOf(value: unknown): JsonValue[] {
  const list = decodeJson(value);
  return Array.isArray(list) ? list.map((item) => decodeJson(item) as JsonValue) : [];
}

/** The first of the candidates that holds messages. */
function firstMessages(...candidates: readonly unknown[]): JsonObject[] {
  for (const candidate of candidates) {
    if (candidate == null) continue;
    const messages = toOpenAiMessages(decodeJson(candidate));
    if (messages.length > 0) return messages;
  }
  return [];
}

/** An answer given as text, as a message without a role, or as a response with choices. */
function answers(value: unknown): unknown {
  const decoded = decodeJson(value);
  if (typeof decoded === "string") return [{ role: "assistant", content: decoded }];
  if (isObject(decoded)) {
    if (Array.isArray(decoded["choices"]))
      return decoded["choices"].filter(isObject).map((choice) => choice["message"] ?? choice);
    if (Array.isArray(decoded["output"])) return decoded["output"];
  }
  return decoded;
}

/** Outputs are the assistant's, whatever role an exporter left out. */
function asAnswers(messages: readonly JsonObject[]): JsonObject[] {
  return messages.map((message) =>
    message["role"] === "user" ? { ...message, role: "assistant" } : message,
  );
}

function toSystem(value: unknown): JsonObject[] {
  if (value == null || value === "") return [];
  const messages = toOpenAiMessages(Array.isArray(value) ? [{ role: "system", content: value }] : value);
  return messages.map((message) => ({ ...message, role: "system" }));
}

/** `gen_ai.user.message` and its kind; the older `gen_ai.content.prompt`; the newer event with all details. */
function fromEvents(span: Span, side: "input" | "output"): unknown {
  const messages: unknown[] = [];
  // Pydantic AI lists them in an attribute.
  const listed = listOf(span.attributes["events"])
    .filter(isObject)
    .map((event) => ({ name: scalarText(event["event.name"]), attributes: event }));
  for (const { name, attributes } of [...span.events, ...listed]) {
    const details = attributes[side === "input" ? "gen_ai.input.messages" : "gen_ai.output.messages"];
    if (details !== undefined) return decodeJson(details);
    const role = /^gen_ai\.(system|user|assistant|tool)\.message$/.exec(name)?.[1];
    const body = decodeJson(attributes["body"] ?? attributes["event_body"]);
    const held: JsonObject = isObject(body) ? body : attributes;
    if (side === "input" && role !== undefined) messages.push(eventMessage(held, role));
    if (side === "input" && name === "gen_ai.content.prompt") return decodeJson(attributes["gen_ai.prompt"]);
    if (side === "output" && name === "gen_ai.content.completion")
      return answers(attributes["gen_ai.completion"]);
    if (side === "output" && name === "gen_ai.choice") {
      const told = decodeJson(held["message"] ?? held["gen_ai.event.content"]) ?? held;
      const message = isObject(told) && isObject(told["message"]) ? told["message"] : told;
      messages.push(isObject(message) ? eventMessage(message, "assistant") : answerOf(message));
    }
  }
  return messages.length > 0 ? messages : undefined;
}

/** An answer that is a text, or parts without a message around them. */
function answerOf(told: unknown): unknown {
  const isParts = Array.isArray(told) && told.every((part) => isObject(part) && part["role"] === undefined);
  return isParts ? { role: "assistant", content: told as JsonValue } : answers(told);
}

/** `gen_ai.event.content` (Azure) is the whole message; other exporters have one attribute a field. */
function eventMessage(attributes: JsonObject, role: string): JsonObject {
  const whole = decodeJson(attributes["gen_ai.event.content"]);
  const held = isObject(whole) ? whole : attributes;
  const content = isObject(whole) ? whole["content"] : decodeJson(attributes["content"] ?? whole);
  const calls = decodeJson(held["tool_calls"]);
  const inner = isObject(content) ? content["content"] : undefined;
  const id = held["tool_call_id"] ?? held["id"];
  return {
    role,
    content: (inner ?? content ?? null) as JsonValue,
    ...(Array.isArray(calls) ? { tool_calls: calls as JsonValue } : {}),
    ...(id === undefined ? {} : { tool_call_id: id }),
  };
}

/** `prefix.0.role`, `prefix.0.message.content`, ...: the numbered items as messages. */
function numbered(attributes: JsonObject, prefix: string, inner: string | null): unknown {
  const found = items(attributes, prefix);
  if (found.length === 0) return undefined;
  return found.map((item) => {
    const key = (name: string): JsonValue | undefined => item[inner === null ? name : `${inner}.${name}`];
    const parts = items(item, inner === null ? "contents" : `${inner}.contents`).map(
      (part) => part["message_content.text"] ?? part["text"],
    );
    const calls = items(item, inner === null ? "tool_calls" : `${inner}.tool_calls`).map(
      (call): JsonObject => ({
        id: call["tool_call.id"] ?? call["id"],
        name: call["tool_call.function.name"] ?? call["name"] ?? call["function.name"],
        arguments: call["tool_call.function.arguments"] ?? call["arguments"] ?? call["function.arguments"],
      }),
    );
    const content = decodeJson(key("content"));
    return {
      role:
        scalarText(key("role")) ||
        (prefix.includes("completion") || prefix.includes("output") ? "assistant" : "user"),
      content: key("content") === undefined ? parts.map(scalarText).join("\n") : content,
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
      ...(key("tool_call_id") === undefined ? {} : { tool_call_id: key("tool_call_id") }),
    };
  });
}

/** Keys `prefix.N.rest` grouped by N, in order. */
function items(attributes: JsonObject, prefix: string): JsonObject[] {
  const byIndex = new Map<number, Record<string, JsonValue | undefined>>();
  for (const [key, value] of Object.entries(attributes)) {
    if (!key.startsWith(`${prefix}.`)) continue;
    const match = /^(\d+)\.(.+)$/.exec(key.slice(prefix.length + 1));
    if (match === null) continue;
    const index = Number(match[1]);
    const item = byIndex.get(index) ?? {};
    item[match[2] as string] = value;
    byIndex.set(index, item);
  }
  return [...byIndex].sort(([a], [b]) => a - b).map(([, item]) => item);
}
