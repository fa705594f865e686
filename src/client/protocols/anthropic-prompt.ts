/** Chat messages in the form of the Anthropic protocol: the system prompt apart, calls and their results as content blocks. */
import type { JsonObject, JsonValue } from "../../core/json.ts";
import type { ModelPrompt } from "../client.ts";
import { asFields, asText } from "./json-event.ts";

/** `system`, `messages` and `tools`. Messages already in Anthropic's form pass unchanged. */
export function anthropicPrompt(prompt: Exclude<ModelPrompt, { kind: "ids" }>): JsonObject {
  if (prompt.kind === "text") return { messages: [{ role: "user", content: prompt.text }] };
  const system: string[] = [];
  const messages: { role: string; content: JsonValue }[] = [];
  for (const message of prompt.messages) {
    const role = asText(message["role"]) ?? "user";
    if (role === "system" || role === "developer") {
      system.push(plain(message["content"]));
      continue;
    }
    const turn = { role: role === "assistant" ? "assistant" : "user", content: contentOf(role, message) };
    const last = messages.at(-1);
    // Results of parallel calls belong into one user message: roles must take turns.
    if (
      role === "tool" &&
      last?.role === "user" &&
      Array.isArray(last.content) &&
      Array.isArray(turn.content)
    ) {
      last.content = [...(last.content as JsonValue[]), ...(turn.content as JsonValue[])];
    } else messages.push(turn);
  }
  return {
    ...(system.length > 0 ? { system: system.join("\n\n") } : {}),
    messages,
    ...(prompt.tools === null ? {} : { tools: prompt.tools.map(toolOf) }),
  };
}

function contentOf(role: string, message: JsonObject): JsonValue {
  const content = message["content"] ?? "";
  if (role === "tool") {
    return [{ type: "tool_result", tool_use_id: message["tool_call_id"] ?? "", content: plain(content) }];
  }
  const calls = message["tool_calls"];
  if (!Array.isArray(calls) || calls.length === 0) return content;
  const text = plain(content);
  return [...(text === "" ? [] : [{ type: "text", text }]), ...(calls as JsonValue[]).map(toolUse)];
}

function toolUse(value: JsonValue): JsonObject {
  const call = asFields(value) ?? {};
  const func = asFields(call["function"]) ?? {};
  return {
    type: "tool_use",
    id: asText(call["id"]) ?? "",
    name: asText(func["name"]) ?? "",
    input: parsed(asText(func["arguments"]) ?? ""),
  };
}

/** Arguments that are no JSON object are kept as text under one key: a recorded call must not be lost. */
function parsed(text: string): JsonObject {
  if (text === "") return {};
  try {
    const value = asFields(JSON.parse(text));
    if (value !== null) return value as JsonObject;
  } catch {
    // Falls through: recorded as it was.
  }
  return { arguments: text };
}

function toolOf(tool: JsonObject): JsonObject {
  const func = asFields(tool["function"]);
  if (func === null) return tool;
  const { name, description, parameters } = func as JsonObject;
  return {
    name: name ?? "",
    ...(description === undefined ? {} : { description }),
    input_schema: parameters ?? { type: "object" },
  };
}

function plain(content: JsonValue | undefined): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return (content as JsonValue[]).map((part) => asText(asFields(part)?.["text"]) ?? "").join("");
}
