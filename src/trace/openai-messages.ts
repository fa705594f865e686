/**
 * Messages as logs keep them (OpenAI chat and Responses, Anthropic blocks, OpenTelemetry parts, LangChain, Inspect),
 * turned into OpenAI chat messages. Text, tool calls and tool results are kept; reasoning is dropped, as servers do
 * when history comes back; other media become a short mark.
 */
import type { JsonObject, JsonValue } from "../core/json.ts";

const ROLES: Readonly<Record<string, string>> = {
  system: "system",
  developer: "system",
  user: "user",
  human: "user",
  HumanMessage: "user",
  assistant: "assistant",
  ai: "assistant",
  AIMessage: "assistant",
  AIMessageChunk: "assistant",
  model: "assistant",
  tool: "tool",
  function: "tool",
  ToolMessage: "tool",
  SystemMessage: "system",
};

/** Converts a message, a list of them, `{messages, system?}`, or a bare text (then the user's). */
export function toOpenAiMessages(source: unknown): JsonObject[] {
  return linkToolResults(joinToolCalls(convert(source)));
}

function convert(source: unknown): JsonObject[] {
  if (typeof source === "string") return source === "" ? [] : [{ role: "user", content: source }];
  if (Array.isArray(source)) return source.flatMap((item: unknown) => convert(item));
  if (!isObject(source)) return [];
  if (Array.isArray(source["messages"])) {
    const system = textOf(source["system"] ?? source["instructions"]);
    return [...(system === "" ? [] : [{ role: "system", content: system }]), ...convert(source["messages"])];
  }
  const wrapped = unwrapGemini(source);
  if (wrapped !== null) return convert(wrapped);
  if (typeof source["prompt"] === "string" && source["role"] === undefined) {
    const system = textOf(source["system"]);
    return [
      ...(system === "" ? [] : [{ role: "system", content: system }]),
      { role: "user", content: source["prompt"] },
    ];
  }
  return convertMessage(source);
}

/** Gemini's request (`contents`, with the system prompt beside), response (`candidates`), and content in a content. */
function unwrapGemini(source: JsonObject): JsonValue | null {
  const contents = source["contents"];
  if (contents !== undefined && source["role"] === undefined) {
    const config = isObject(source["config"]) ? source["config"] : source;
    const system = config["system_instruction"] ?? config["systemInstruction"];
    const list = Array.isArray(contents) ? (contents as JsonValue[]) : [contents];
    return system == null
      ? list
      : [{ role: "system", content: isObject(system) ? (system["parts"] ?? "") : system }, ...list];
  }
  if (Array.isArray(source["candidates"]))
    return source["candidates"]
      .filter(isObject)
      .slice(0, 1)
      .map((one) => one["content"] ?? null);
  const content = source["content"];
  return isObject(content) && Array.isArray(content["parts"]) ? content : null;
}

function convertMessage(raw: JsonObject): JsonObject[] {
  const type = typeof raw["type"] === "string" ? raw["type"] : "";
  if (type === "reasoning") return [];
  if (/^(function|custom_tool|local_shell|web_search|computer|mcp|file_search)_call$/.test(type)) {
    return [{ role: "assistant", content: null, tool_calls: [toolCall(raw)] }];
  }
  if (type.endsWith("_call_output")) {
    return [toolMessage(raw["call_id"] ?? raw["id"], textOf(raw["output"]))];
  }
  const inner = isObject(raw["kwargs"]) ? raw["kwargs"] : isObject(raw["data"]) ? raw["data"] : raw;
  // LangChain's serialised form names the class last in its id.
  const klass = Array.isArray(raw["id"]) ? raw["id"].at(-1) : undefined;
  const named = scalarText(raw["role"]);
  // A role that nobody knows is a tool's name (LangChain for JavaScript).
  const byTool = named !== "" && ROLES[named] === undefined;
  const role = byTool
    ? "tool"
    : (ROLES[scalarText(raw["role"] ?? inner["type"] ?? klass ?? raw["type"])] ?? "user");
  const split = splitContent(inner["content"] ?? inner["parts"]);
  if (role === "tool" && split.results.length === 0) {
    const id = inner["tool_call_id"] ?? firstOf(inner["tool_call_ids"]) ?? inner["id"];
    return [toolMessage(id, split.text, byTool ? named : inner["name"])];
  }
  const calls = [...split.calls, ...toolCallsOf(inner)];
  const messages = split.results.map(({ id, text }) => toolMessage(id, text));
  if (role === "assistant") {
    // Only reasoning: nothing of it comes back. An answer that really was empty stays.
    if (split.text === "" && calls.length === 0)
      return Array.isArray(inner["content"] ?? inner["parts"])
        ? messages
        : [...messages, { role, content: "" }];
    const message: JsonObject = { role, content: split.text === "" ? null : split.text };
    return [...messages, calls.length === 0 ? message : { ...message, tool_calls: dedupe(calls) }];
  }
  if (role === "tool" || (split.text === "" && messages.length > 0)) return messages;
  return [...messages, { role, content: split.text }];
}

interface Split {
  readonly text: string;
  readonly calls: readonly JsonObject[];
  readonly results: readonly { readonly id: JsonValue | undefined; readonly text: string }[];
}

/** Text, tool calls and tool results of a content: a string, or parts of any of the known kinds. */
function splitContent(content: unknown): Split {
  if (typeof content === "string") return { text: content, calls: [], results: [] };
  const parts: unknown[] = Array.isArray(content) ? content : isObject(content) ? [content] : [];
  const texts: string[] = [];
  const calls: JsonObject[] = [];
  const results: { id: JsonValue | undefined; text: string }[] = [];
  for (const item of parts) {
    if (typeof item === "string") texts.push(item);
    if (!isObject(item)) continue;
    const part = fromConverse(item);
    // The AI SDK for JavaScript writes tool-call, tool-result.
    const type = scalarText(part["type"]).replaceAll("-", "_");
    const called = part["function_call"] ?? part["functionCall"];
    const answered = part["function_response"] ?? part["functionResponse"];
    if (isObject(called)) calls.push(toolCall(called));
    else if (isObject(answered))
      results.push({ id: answered["id"] ?? answered["name"], text: textOf(answered["response"]) });
    else if (
      type === "tool_use" ||
      type === "tool_call" ||
      type === "function_call" ||
      type === "server_tool_use"
    )
      calls.push(toolCall(part));
    else if (/(tool|function)_result$|^tool_call_response$/.test(type))
      results.push({
        id:
          part["tool_use_id"] ?? part["tool_call_id"] ?? part["call_id"] ?? part["toolCallId"] ?? part["id"],
        text: textOf(part["content"] ?? part["response"] ?? part["result"] ?? valueOf(part["output"])),
      });
    else if (!isReasoning(type)) texts.push(partText(part, type));
  }
  return { text: texts.filter((text) => text !== "").join("\n"), calls, results };
}

/** A block of Bedrock's Converse, which names its kind by its key, as one that has a type. */
function fromConverse(part: JsonObject): JsonObject {
  if (part["type"] !== undefined) return part;
  const { toolUse: use, toolResult: result } = part;
  if (isObject(use)) return { ...use, type: "tool_use", id: use["toolUseId"] };
  if (isObject(result)) return { ...result, type: "tool_result", tool_use_id: result["toolUseId"] };
  if (isObject(part["reasoningContent"]) || isObject(part["cachePoint"])) return { type: "reasoning" };
  const media = ["image", "document", "video"].find((key) => isObject(part[key]));
  if (media !== undefined) return { type: media };
  return part["json"] === undefined ? part : { text: JSON.stringify(part["json"]) };
}

/** An output that names its kind: `{type: "text", value}`. */
function valueOf(output: unknown): unknown {
  return isObject(output) && output["value"] !== undefined ? output["value"] : output;
}

function isReasoning(type: string): boolean {
  return type === "thinking" || type === "redacted_thinking" || type === "reasoning";
}

function partText(part: JsonObject, type: string): string {
  const text = part["text"] ?? part["content"] ?? part["refusal"];
  if (typeof text === "string") return text;
  if (isObject(part["function"]) || text !== undefined) return JSON.stringify(text ?? part);
  return type === "" ? JSON.stringify(part) : `[${type.replace("_url", "")}]`;
}

/** The plain text of a content: a string, parts, or (where a tool answered with a value) its JSON. */
export function textOf(content: unknown): string {
  if (content == null) return "";
  if (typeof content === "string") return content;
  if (Array.isArray(content) && content.every((part) => typeof part === "string" || isObject(part))) {
    return splitContent(content).text;
  }
  if (isObject(content) && typeof content["text"] === "string") return content["text"];
  return JSON.stringify(content);
}

function toolMessage(id: JsonValue | undefined, content: string, name?: JsonValue): JsonObject {
  const message: JsonObject = { role: "tool", tool_call_id: scalarText(id), content };
  return typeof name === "string" && name !== "" ? { ...message, name } : message;
}

function toolCallsOf(raw: JsonObject): JsonObject[] {
  const more = isObject(raw["additional_kwargs"]) ? raw["additional_kwargs"]["tool_calls"] : undefined;
  const calls = Array.isArray(raw["tool_calls"]) && raw["tool_calls"].length > 0 ? raw["tool_calls"] : more;
  if (!Array.isArray(calls)) return [];
  return calls.filter(isObject).map(toolCall);
}

/** One tool call in any of the shapes, in OpenAI's: arguments are JSON text. */
export function toolCall(raw: JsonObject): JsonObject {
  const inner = isObject(raw["tool_call"]) ? raw["tool_call"] : raw;
  const fn = isObject(inner["function"]) ? inner["function"] : null;
  const name =
    fn?.["name"] ??
    (typeof inner["function"] === "string" ? inner["function"] : undefined) ??
    inner["name"] ??
    inner["function_name"] ??
    inner["toolName"] ??
    inner["type"];
  const args =
    fn?.["arguments"] ?? inner["arguments"] ?? inner["input"] ?? inner["args"] ?? inner["action"] ?? {};
  const id = inner["call_id"] ?? inner["id"] ?? inner["tool_call_id"] ?? inner["toolCallId"];
  return {
    id: scalarText(id),
    type: "function",
    function: {
      name: scalarText(name) || "tool",
      arguments: typeof args === "string" ? args : JSON.stringify(args),
    },
  };
}

function dedupe(calls: readonly JsonObject[]): JsonObject[] {
  const seen = new Set<string>();
  return calls.filter((call) => {
    const id = scalarText(call["id"]);
    if (id === "" || !seen.has(id)) {
      seen.add(id);
      return true;
    }
    return false;
  });
}

/** Assistant messages in a row become one: one answer's text and calls come back in one message. */
function joinToolCalls(messages: readonly JsonObject[]): JsonObject[] {
  const joined: JsonObject[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    const calls = message["tool_calls"];
    if (
      last?.["role"] === "assistant" &&
      message["role"] === "assistant" &&
      message["content"] === null &&
      Array.isArray(calls)
    ) {
      const known = Array.isArray(last["tool_calls"]) ? last["tool_calls"].filter(isObject) : [];
      joined[joined.length - 1] = { ...last, tool_calls: dedupe([...known, ...calls.filter(isObject)]) };
    } else joined.push(message);
  }
  return joined;
}

/** Gives results without a (known) call id the id of the call that they answer, by the tool's name. */
function linkToolResults(messages: JsonObject[]): JsonObject[] {
  let open: JsonObject[] = [];
  return messages.map((message) => {
    if (message["role"] === "assistant" && Array.isArray(message["tool_calls"])) {
      const calls = message["tool_calls"].filter(isObject);
      open = calls.map((call, at) => (scalarText(call["id"]) === "" ? { ...call, id: `call_${at}` } : call));
      return open.some((call, at) => call !== calls[at]) ? { ...message, tool_calls: open } : message;
    }
    if (message["role"] !== "tool") return message;
    const id = scalarText(message["tool_call_id"]);
    const known = open.find((call) => call["id"] === id);
    const byName = known ?? open.find((call) => functionName(call) === (id === "" ? message["name"] : id));
    if (byName !== undefined) open = open.filter((call) => call !== byName);
    return known !== undefined || byName === undefined ? message : { ...message, tool_call_id: byName["id"] };
  });
}

function functionName(call: JsonObject): JsonValue | undefined {
  return isObject(call["function"]) ? call["function"]["name"] : undefined;
}

/** Tool definitions of any vendor in OpenAI's shape; `null` without any. */
export function toOpenAiTools(source: unknown): JsonObject[] | null {
  if (!Array.isArray(source)) return null;
  const tools = source.filter(isObject).flatMap((raw) => {
    if (isObject(raw["function"])) return [{ type: "function", function: raw["function"] }];
    if (typeof raw["name"] !== "string") return [];
    const parameters = raw["parameters"] ?? raw["input_schema"] ?? raw["inputSchema"];
    return [
      {
        type: "function",
        function: {
          name: raw["name"],
          ...(typeof raw["description"] === "string" ? { description: raw["description"] } : {}),
          ...(isObject(parameters) ? { parameters } : {}),
        },
      },
    ];
  });
  return tools.length > 0 ? tools : null;
}

/** The text of an OpenAI message. */
export function messageText(message: JsonObject): string {
  return textOf(message["content"]);
}

/** The text of an answer; `null` without any. */
export function answerText(messages: readonly JsonObject[]): string | null {
  const texts = messages
    .filter((message) => message["role"] === "assistant")
    .map(messageText)
    .filter((text) => text !== "");
  return texts.length > 0 ? texts.join("\n") : null;
}

/** Ids of an assistant message's tool calls, empty ones left out. */
export function toolCallIds(message: JsonObject): string[] {
  const calls = message["tool_calls"];
  if (!Array.isArray(calls)) return [];
  return calls.filter(isObject).flatMap((call) => (call["id"] ? [scalarText(call["id"])] : []));
}

/** A string or a number as text; anything else is empty. */
export function scalarText(value: unknown): string {
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : "";
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function firstOf(value: JsonValue | undefined): JsonValue | undefined {
  return Array.isArray(value) ? (value[0] as JsonValue | undefined) : undefined;
}
