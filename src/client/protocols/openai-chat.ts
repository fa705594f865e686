/** OpenAI chat: `POST /v1/chat/completions`. */
import { UserError } from "../../core/failure.ts";
import type { JsonObject } from "../../core/json.ts";
import type { ModelPrompt, ModelRequest } from "../client.ts";
import type { Delta, HttpRequest, Protocol, ResponseReader, ToolCallDelta } from "../protocol.ts";
import { asCount, asFields, asText, type Fields } from "./json-event.ts";
import { ChoicesReader } from "./openai-choices.ts";
import { openaiFields } from "./openai-request.ts";

const PATH = "/v1/chat/completions";

class ChatReader extends ChoicesReader {
  /** Index of the tool call under way, for servers that leave the index out. */
  #call = -1;
  #callId: string | null = null;

  protected override takeChoice(choice: Fields, delta: Delta): boolean {
    const message = messageOf(choice);
    if (message === null) return false;
    readContent(message["content"], delta);
    const refusal = asText(message["refusal"]);
    if (refusal !== null && refusal !== "") delta.text = (delta.text ?? "") + refusal;
    const reasoning = reasoningOf(message);
    if (reasoning !== "") delta.reasoning = (delta.reasoning ?? "") + reasoning;
    const calls = message["tool_calls"];
    if (Array.isArray(calls) && calls.length > 0) delta.tool_calls = this.#toolCalls(calls);
    else if (asFields(message["function_call"]) !== null) {
      delta.tool_calls = this.#toolCalls([{ index: 0, function: message["function_call"] }]);
    }
    if (hasMedia(message)) delta.other_choice = true;
    return true;
  }

  protected override hasPayload(choice: Fields): boolean | null {
    const message = messageOf(choice);
    if (message === null) return null;
    return (
      [message["content"], message["refusal"], message["tool_calls"]].some(isSomething) ||
      asFields(message["function_call"]) !== null ||
      reasoningOf(message) !== "" ||
      hasMedia(message)
    );
  }

  #toolCalls(calls: readonly unknown[]): ToolCallDelta[] {
    const fragments: ToolCallDelta[] = [];
    for (const item of calls) {
      const call = asFields(item);
      if (call === null) continue;
      const func = asFields(call["function"]);
      const id = asText(call["id"]) || null;
      const index = asCount(call["index"]) ?? this.#nextIndex(id);
      this.#call = index;
      if (id !== null) this.#callId = id;
      const given = func?.["arguments"];
      const text = typeof given === "string" ? given : given == null ? "" : JSON.stringify(given);
      fragments.push({ index, id, name: asText(func?.["name"]) || null, arguments: text });
    }
    return fragments;
  }

  /** Without an index a new id begins a new call, and anything else goes on with the one under way. */
  #nextIndex(id: string | null): number {
    if (this.#call < 0) return 0;
    return id !== null && id !== this.#callId ? this.#call + 1 : this.#call;
  }
}

/** The delta (or message) of a choice; an empty one if it is left out; `null` for a choice of the other protocol. */
function messageOf(choice: Fields): Fields | null {
  const message = asFields(choice["delta"]) ?? asFields(choice["message"]);
  if (message !== null) return message;
  return (asText(choice["text"]) ?? "") === "" ? {} : null;
}

/** The names that servers give it; some send several of them with the same text. */
const REASONING = ["reasoning_content", "reasoning", "reasoning_text", "thinking"];

/** Reasoning under any of its names; OpenRouter and MiniMax send a list of parts. */
function reasoningOf(message: Fields): string {
  for (const name of REASONING) {
    const text = asText(message[name]);
    if (text) return text;
  }
  const parts = message["reasoning_details"];
  if (!Array.isArray(parts)) return "";
  return parts
    .map((item) => {
      const part = asFields(item);
      return asText(part?.["text"]) ?? asText(part?.["summary"]) ?? "";
    })
    .join("");
}

/** Sound and pictures are payload that is no text. */
function hasMedia(message: Fields): boolean {
  const audio = asFields(message["audio"]);
  return isSomething(audio?.["data"]) || isSomething(audio?.["transcript"]) || isSomething(message["images"]);
}

function isSomething(value: unknown): boolean {
  return (typeof value === "string" || Array.isArray(value)) && value.length > 0;
}

/** Content is text, or parts of which those of kind `thinking` are reasoning. */
function readContent(content: unknown, delta: Delta): void {
  if (typeof content === "string") {
    delta.text = content;
    return;
  }
  if (!Array.isArray(content)) return;
  for (const item of content) {
    const part = asFields(item);
    const text = asText(part?.["text"]);
    if (text !== null) delta.text = (delta.text ?? "") + text;
    const thinking = part?.["thinking"];
    if (thinking !== undefined) delta.reasoning = (delta.reasoning ?? "") + thinkingText(thinking);
  }
}

function thinkingText(thinking: unknown): string {
  if (typeof thinking === "string") return thinking;
  if (!Array.isArray(thinking)) return "";
  return thinking.map((item) => asText(asFields(item)?.["text"]) ?? "").join("");
}

export const openaiChat: Protocol = {
  name: "openai-chat",
  title: "OpenAI chat completions",
  defaultPath: PATH,
  framing: "sse",
  independentEvents: true,
  prompts: ["messages"],
  request(request: ModelRequest): HttpRequest {
    return {
      method: "POST",
      path: PATH,
      body: { model: request.model, ...chatMessages(request.prompt), ...openaiFields(request) },
    };
  },
  reader: (): ResponseReader => new ChatReader(),
};

/** `messages` and `tools`; a text becomes one user message. */
export function chatMessages(prompt: ModelPrompt): JsonObject {
  switch (prompt.kind) {
    case "messages":
      return { messages: prompt.messages, ...(prompt.tools === null ? {} : { tools: prompt.tools }) };
    case "text":
      return { messages: [{ role: "user", content: prompt.text }] };
    case "ids":
      throw new UserError("the chat protocol takes messages or text, not token ids", {
        hint: "use --backend openai for prompts given as token ids",
      });
  }
}
