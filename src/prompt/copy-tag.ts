/** Keeps copies of a recorded job apart: without it the second copy would be served from the first one's prefix cache. */
import type { JsonObject } from "../core/json.ts";
import type { IdsPrompt, MessagesPrompt, TextPrompt } from "../trace/trace-request.ts";

type RecordedPrompt = TextPrompt | IdsPrompt | MessagesPrompt;

/**
 * A recorded prompt whose first tokens are those of its copy: text and the first message begin with a line of a few made-up
 * words (so much longer they are), ids have their first few replaced (as long as before). The first `common` messages stay as
 * they are.
 */
export function tagCopy(
  prompt: RecordedPrompt,
  tag: string,
  ids: readonly number[],
  common = 0,
): RecordedPrompt {
  if (prompt.kind === "text") return { kind: "text", text: `${tag}\n${prompt.text}` };
  if (prompt.kind === "ids") {
    const kept = Math.min(ids.length, prompt.ids.length);
    return { kind: "ids", ids: [...ids.slice(0, kept), ...prompt.ids.slice(kept)] };
  }
  const kept = prompt.messages.slice(0, common);
  return { ...prompt, messages: [...kept, ...tagFirst(prompt.messages.slice(common), tag)] };
}

function tagFirst(messages: readonly JsonObject[], tag: string): readonly JsonObject[] {
  const [first, ...others] = messages;
  if (first === undefined) return messages;
  const { content } = first;
  if (typeof content === "string") return [{ ...first, content: `${tag}\n${content}` }, ...others];
  if (Array.isArray(content))
    return [{ ...first, content: [{ type: "text", text: tag }, ...content] }, ...others];
  return [{ role: "system", content: tag }, ...messages];
}
