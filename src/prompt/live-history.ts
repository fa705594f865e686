/** `--history live`: later turns carry what this server answered instead of what was recorded. */
import type { JsonObject } from "../core/json.ts";

/** An answer of an earlier turn of the same job. */
export interface LiveAnswer {
  /** The answer in the trace, where it is known. */
  readonly recorded: string | null;
  /** How many messages that earlier turn's prompt had: in the later history its answer stands at this position. */
  readonly position: number | null;
  /** What the server answered now, reasoning left out. */
  readonly text: string;
}

const REASONING = ["reasoning_content", "reasoning", "thinking"] as const;

/**
 * The messages of a turn with recorded assistant turns replaced by live ones, and reasoning dropped from all of them. Recorded
 * tool calls stay, since the recorded tool results that follow refer to their ids. `replaced` says how many were.
 */
export function withLiveHistory(
  messages: readonly JsonObject[],
  answers: readonly LiveAnswer[],
): { messages: readonly JsonObject[]; replaced: number } {
  const out = messages.map((message) =>
    message["role"] === "assistant" ? withoutReasoning(message) : message,
  );
  const taken = new Set<number>();
  let replaced = 0;
  for (const answer of answers) {
    const at = findAnswer(out, answer, taken);
    if (at === null) continue;
    taken.add(at);
    out[at] = { ...(out[at] as JsonObject), content: answer.text };
    replaced++;
  }
  return { messages: out, replaced };
}

function findAnswer(messages: readonly JsonObject[], answer: LiveAnswer, taken: Set<number>): number | null {
  const { position, recorded } = answer;
  if (position !== null && !taken.has(position) && messages[position]?.["role"] === "assistant")
    return position;
  if (recorded === null) return null;
  const found = messages.findIndex(
    (message, at) => !taken.has(at) && message["role"] === "assistant" && message["content"] === recorded,
  );
  return found === -1 ? null : found;
}

function withoutReasoning(message: JsonObject): JsonObject {
  if (!REASONING.some((key) => key in message)) return message;
  return Object.fromEntries(
    Object.entries(message).filter(([key]) => !REASONING.includes(key as "reasoning")),
  );
}
