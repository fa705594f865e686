/** Prompts for protocols that cannot take them as they are. What is changed here is a conversion, and told as one. */
import type { ModelPrompt } from "../client/client.ts";
import { UserError } from "../core/failure.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";

export type PromptKind = ModelPrompt["kind"];

/** How ids become text and text becomes ids, where the tokenizer answers at once. */
export interface PromptCodec {
  readonly decode?: ((ids: readonly number[]) => string) | null;
  readonly encode?: ((text: string) => readonly number[]) | null;
}

/**
 * `prompt` in a form of `accepted`: text is one user message; messages are text by {@link messagesToText}; ids are decoded.
 * A {@link UserError} where that needs a tokenizer that is not at hand.
 */
export function adaptPrompt(
  prompt: ModelPrompt,
  accepted: readonly PromptKind[],
  codec: PromptCodec = {},
): ModelPrompt {
  if (accepted.includes(prompt.kind)) return prompt;
  const text =
    prompt.kind === "messages" ? messagesToText(prompt.messages, prompt.tools) : textOf(prompt, codec);
  if (accepted.includes("text")) return { kind: "text", text };
  if (accepted.includes("messages"))
    return { kind: "messages", messages: [{ role: "user", content: text }], tools: null };
  if (codec.encode == null) {
    throw new UserError("this protocol takes token ids only, and no tokenizer is at hand to make them", {
      hint: "name the model's tokenizer.json with --tokenizer",
    });
  }
  return { kind: "ids", ids: codec.encode(text) };
}

function textOf(prompt: Exclude<ModelPrompt, { kind: "messages" }>, codec: PromptCodec): string {
  if (prompt.kind === "text") return prompt.text;
  if (codec.decode == null) {
    throw new UserError("the prompts are token ids, which this protocol does not take", {
      hint: "use --backend openai, or name the model's tokenizer.json with --tokenizer so that they can be decoded",
    });
  }
  return codec.decode(prompt.ids);
}

/**
 * Messages as plain text, for completions protocols: the tools as one line of JSON each, then `role: content` paragraphs,
 * then `assistant:`. Parts that are not text become their type in brackets. It is not the model's own chat template.
 */
export function messagesToText(messages: readonly JsonObject[], tools: readonly JsonObject[] | null): string {
  const parts: string[] = [];
  if (tools !== null && tools.length > 0)
    parts.push(`tools:\n${tools.map((tool) => JSON.stringify(tool)).join("\n")}`);
  for (const message of messages) {
    const role = typeof message["role"] === "string" ? message["role"] : "user";
    const lines = [contentText(message["content"])];
    if (Array.isArray(message["tool_calls"]))
      for (const call of message["tool_calls"] as readonly JsonValue[]) lines.push(JSON.stringify(call));
    parts.push(`${role}: ${lines.filter((line) => line !== "").join("\n")}`);
  }
  parts.push("assistant:");
  return parts.join("\n\n");
}

function contentText(content: JsonValue | undefined): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return content == null ? "" : JSON.stringify(content);
  return (content as readonly JsonValue[])
    .map((part) => {
      if (typeof part !== "object" || part === null || Array.isArray(part)) return String(part);
      const { text, type } = part as JsonObject;
      return typeof text === "string" ? text : `[${typeof type === "string" ? type : "part"}]`;
    })
    .join("\n");
}
