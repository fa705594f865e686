/**
 * The simulator's chat template, in the manner of ChatML: each message is START, role, newline, content, END, newline,
 * that is its content and 5 tokens; the prompt ends with START, `assistant`, newline, 3 tokens. Tools are JSON in a system
 * message of their own, tool calls JSON behind the content. An answer ends with END, so a history that holds it
 * continues the very tokens the engine computed.
 */
import type { JsonObject, JsonValue } from "../core/json.ts";
import { TOKEN_END, TOKEN_IMAGE, TOKEN_START, encode } from "./tokenizer.ts";

/** Tokens of a message beside its content. */
export const MESSAGE_OVERHEAD_TOKENS = 5;
export const GENERATION_PROMPT_TOKENS = 3;
/** Any part that is not text counts as a picture of this many tokens. */
const PART_TOKENS = 256;
const NEWLINE = encode("\n")[0] as number;

/** The messages' token ids. Throws a `TypeError` with the reason for messages that are none. */
export function encodeMessages(
  messages: readonly JsonObject[],
  tools: readonly JsonValue[] | null,
  generation_prompt = true,
): Int32Array {
  const parts: Int32Array[] = [];
  if (tools !== null && tools.length > 0) pushMessage(parts, "system", [encode(JSON.stringify(tools))]);
  for (const [index, message] of messages.entries()) {
    const { role } = message;
    if (typeof role !== "string" || role === "")
      throw new TypeError(`messages[${index}].role must be a string`);
    const content = encodeContent(message.content ?? null, index);
    if (Array.isArray(message.tool_calls) && message.tool_calls.length > 0) {
      content.push(encode(JSON.stringify(message.tool_calls)));
    }
    pushMessage(parts, role, content);
  }
  if (generation_prompt)
    parts.push(Int32Array.of(TOKEN_START, ...encode("assistant").subarray(0, 1), NEWLINE));
  return join(parts);
}

function pushMessage(parts: Int32Array[], role: string, content: readonly Int32Array[]): void {
  // A role is one token, the first of its name: "user", "assi", "syst", "tool".
  parts.push(Int32Array.of(TOKEN_START, encode(role)[0] as number, NEWLINE));
  parts.push(...content, Int32Array.of(TOKEN_END, NEWLINE));
}

function encodeContent(content: JsonValue, index: number): Int32Array[] {
  if (content === null) return [];
  if (typeof content === "string") return [encode(content)];
  if (!Array.isArray(content))
    throw new TypeError(`messages[${index}].content must be a string or a list of parts`);
  return content.map((part: JsonValue) => {
    if (typeof part === "string") return encode(part);
    if (part === null || typeof part !== "object" || Array.isArray(part)) {
      throw new TypeError(`messages[${index}].content holds a part that is none`);
    }
    const { text } = part as JsonObject;
    return typeof text === "string" ? encode(text) : new Int32Array(PART_TOKENS).fill(TOKEN_IMAGE);
  });
}

function join(parts: readonly Int32Array[]): Int32Array {
  const ids = new Int32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    ids.set(part, at);
    at += part.length;
  }
  return ids;
}
