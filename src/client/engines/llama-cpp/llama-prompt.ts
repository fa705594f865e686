/** A prompt as token ids of the model: text as a server would take it, messages by the model's own chat template. */
import type { JsonObject, JsonValue } from "../../../core/json.ts";
import type { ModelPrompt } from "../../client.ts";
import type { LlamaLibrary, LlamaModel } from "./llama-library.ts";

/** The prompt can never work; the message says why. */
export class UnfitPrompt extends Error {}

export interface LlamaPrompts {
  /** Throws {@link UnfitPrompt}. */
  idsOf(prompt: ModelPrompt): number[];
}

export function createLlamaPrompts(library: LlamaLibrary, model: LlamaModel): LlamaPrompts {
  const source = model.fileInfo.metadata?.tokenizer?.chat_template ?? null;
  const vocabulary = model.fileInfo.metadata?.tokenizer?.ggml?.tokens?.length ?? Number.POSITIVE_INFINITY;
  const { bos, bosString, eosString, shouldPrependBosToken } = model.tokens;
  let template: ReturnType<LlamaLibrary["template"]> | null = null;

  const begun = (ids: number[]): number[] =>
    shouldPrependBosToken && bos !== null && ids[0] !== bos ? [bos, ...ids] : ids;
  const render = (messages: readonly JsonObject[], tools: readonly JsonObject[] | null): string => {
    if (source === null) throw new UnfitPrompt("messages: the model has no chat template");
    template ??= library.template(source);
    try {
      return template.render({
        messages: messages.map(flatMessage),
        ...(tools === null || tools.length === 0 ? {} : { tools }),
        add_generation_prompt: true,
        bos_token: bosString ?? "",
        eos_token: eosString ?? "",
      });
    } catch (error) {
      if (error instanceof UnfitPrompt) throw error;
      throw new UnfitPrompt(`messages: the model's chat template refuses them: ${(error as Error).message}`);
    }
  };
  return {
    idsOf: (prompt) => {
      const ids =
        prompt.kind === "ids"
          ? [...prompt.ids]
          : begun(
              model.tokenize(
                prompt.kind === "text" ? prompt.text : render(prompt.messages, prompt.tools),
                true,
              ),
            );
      if (ids.length === 0) throw new UnfitPrompt("the prompt is empty");
      const foreign = prompt.kind === "ids" ? ids.find((id) => id >= vocabulary) : undefined;
      if (foreign !== undefined)
        throw new UnfitPrompt(`token id ${foreign} is not in the vocabulary of ${vocabulary}`);
      return ids;
    },
  };
}

/** Content parts as one text, tool arguments as objects: what chat templates expect. */
function flatMessage(message: JsonObject): JsonObject {
  const { content, tool_calls: calls } = message;
  return {
    ...message,
    ...(Array.isArray(content)
      ? { content: (content as readonly JsonValue[]).map(partText).join("\n") }
      : {}),
    ...(Array.isArray(calls) ? { tool_calls: (calls as readonly JsonValue[]).map(withObjectArguments) } : {}),
  };
}

function partText(part: JsonValue): string {
  const { text, type } = (typeof part === "object" && part !== null ? part : {}) as JsonObject;
  if (typeof text === "string") return text;
  throw new UnfitPrompt(
    `messages: a part of type ${typeof type === "string" ? type : typeof part} is not text`,
  );
}

function withObjectArguments(call: JsonValue): JsonValue {
  const { function: asked } = (typeof call === "object" && call !== null ? call : {}) as JsonObject;
  const text = (asked as JsonObject | undefined)?.["arguments"];
  if (typeof text !== "string") return call;
  try {
    const parsed = JSON.parse(text === "" ? "{}" : text) as JsonValue;
    return { ...(call as JsonObject), function: { ...(asked as JsonObject), arguments: parsed } };
  } catch {
    return call;
  }
}
