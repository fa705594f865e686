/**
 * The simulator's chat template, in the manner of ChatML: a message is START, its role, HEADER, its content, END: that is
 * its content, its role (`user`, `tool` 1 token, `system` 2, `assistant` 3) and 3 tokens. The prompt ends with START,
 * `assistant`, HEADER: 5 tokens. Tools are JSON in a system message of their own, tool calls JSON behind the content. An
 * answer ends with END, so a history that holds it continues the very tokens the engine computed.
 */
import type { JsonObject, JsonValue } from "../core/json.ts";
import { SPECIAL_CHAR, TOKEN_END, TOKEN_HEADER, TOKEN_IMAGE, TOKEN_START } from "./tokenizer.ts";

/** Any part that is not text counts as a picture of this many tokens. */
const PART_TOKENS = 256;
const char = (id: number): string => String.fromCharCode(SPECIAL_CHAR + id);
const START = char(TOKEN_START);
const HEADER = char(TOKEN_HEADER);
const END = char(TOKEN_END);
const PART = char(TOKEN_IMAGE).repeat(PART_TOKENS);

/**
 * The rendered chat, to be encoded with `specials`. Throws a `TypeError` with the reason for messages that are none.
 */
export function renderChat(
  messages: readonly JsonObject[],
  tools: readonly JsonValue[] | null,
  generation_prompt = true,
): string {
  let chat = "";
  if (tools !== null && tools.length > 0) chat += renderMessage("system", plain(JSON.stringify(tools)));
  for (const [index, message] of messages.entries()) {
    const { role } = message;
    if (typeof role !== "string" || role === "") {
      throw new TypeError(`messages[${index}].role must be a string`);
    }
    let content = renderContent(message.content ?? null, index);
    if (Array.isArray(message.tool_calls) && message.tool_calls.length > 0) {
      content += plain(JSON.stringify(message.tool_calls));
    }
    chat += renderMessage(plain(role), content);
  }
  return generation_prompt ? `${chat}${START}assistant${HEADER}` : chat;
}

function renderMessage(role: string, content: string): string {
  return START + role + HEADER + content + END;
}

function renderContent(content: JsonValue, index: number): string {
  if (content === null) return "";
  if (typeof content === "string") return plain(content);
  if (!Array.isArray(content)) {
    throw new TypeError(`messages[${index}].content must be a string or a list of parts`);
  }
  return content
    .map((part: JsonValue) => {
      if (typeof part === "string") return plain(part);
      if (part === null || typeof part !== "object" || Array.isArray(part)) {
        throw new TypeError(`messages[${index}].content holds a part that is none`);
      }
      const { text } = part as JsonObject;
      return typeof text === "string" ? plain(text) : PART;
    })
    .join("");
}

/** Text with the noncharacters that stand for special tokens replaced, as unknown characters are. */
function plain(text: string): string {
  let clean = text;
  for (const special of [START, HEADER, END, char(TOKEN_IMAGE)]) {
    if (clean.includes(special)) clean = clean.replaceAll(special, "\ufffd");
  }
  return clean;
}
