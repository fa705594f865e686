/** A recorded conversation as a job: each assistant message is a turn, its prompt the messages before it. */
import type { JsonObject } from "../core/json.ts";
import { newRequest } from "./new-request.ts";
import { messageText } from "./openai-messages.ts";
import type { TraceRequest } from "./trace-request.ts";
import { chainedTurn } from "./turn-chain.ts";

export interface Conversation {
  readonly job_id: string;
  /** OpenAI messages. */
  readonly messages: readonly JsonObject[];
  readonly tools: readonly JsonObject[] | null;
}

/** What else is known of one turn (times, tools, caps). `turn` counts from 0. */
export type TurnDetails = (turn: number, at: number) => Partial<TraceRequest>;

/**
 * The turns of a conversation, each after the one before it. An assistant message with nothing before it (a greeting that
 * no model made) is no turn. Prompts share their message objects.
 */
export function turnsOfConversation(
  conversation: Conversation,
  details: TurnDetails = () => ({}),
): TraceRequest[] {
  const { job_id, messages, tools } = conversation;
  const turns: TraceRequest[] = [];
  messages.forEach((message, at) => {
    if (message["role"] !== "assistant" || at === 0) return;
    const turn = turns.length;
    const text = messageText(message);
    turns.push(
      newRequest({
        ...chainedTurn(job_id, turn),
        prompt: { kind: "messages", messages: messages.slice(0, at), tools },
        response_text: text === "" ? null : text,
        ...details(turn, at),
      }),
    );
  });
  return turns;
}
