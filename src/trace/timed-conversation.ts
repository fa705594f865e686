/** A conversation whose messages are stamped when they are complete: each answer is a turn, sent when its last input was there. */
import type { JsonObject } from "../core/json.ts";
import type { Ms } from "../core/units.ts";
import { newRecorded, newRequest } from "./new-request.ts";
import { answerText } from "./openai-messages.ts";
import type { Recorded, TraceRequest } from "./trace-request.ts";
import { TimedChain } from "./turn-chain.ts";

/** What is told of one answer. */
export interface TimedAnswer extends Pick<Recorded, "prompt_tokens" | "output_tokens" | "cached_tokens"> {
  readonly end_ms: Ms | null;
  /** How long the model took; `null` = not told. */
  readonly took_ms: Ms | null;
  readonly more: Partial<TraceRequest>;
}

export class TimedConversation {
  readonly requests: TraceRequest[] = [];
  readonly job_id: string;
  readonly #history: JsonObject[] = [];
  #heard: Ms | null = null;
  readonly #chain = new TimedChain();

  constructor(job_id: string) {
    this.job_id = job_id;
  }

  /** Whether a user or a tool has said anything yet. */
  get wasAsked(): boolean {
    return this.#history.some(({ role }) => role === "user" || role === "tool");
  }

  get isEmpty(): boolean {
    return this.#history.length === 0;
  }

  /** What the model is told. */
  hear(messages: readonly JsonObject[], time: Ms | null): void {
    this.#history.push(...messages);
    if (time !== null) this.#heard = Math.max(this.#heard ?? time, time);
  }

  /** What the model said; it becomes history unless the agent threw it away (`isKept`). */
  answer(messages: readonly JsonObject[], told: TimedAnswer, isKept = true): void {
    const { end_ms, took_ms, more, ...counts } = told;
    const started = took_ms === null || end_ms === null ? null : end_ms - took_ms;
    // Nothing heard in between: the agent asked again at once.
    const sent = started ?? this.#heard ?? this.#chain.end;
    this.requests.push(
      newRequest({
        ...this.#chain.next(this.job_id, sent, end_ms),
        prompt: { kind: "messages", messages: this.#history.slice(), tools: null },
        recorded: newRecorded({ sent_ms: sent, end_ms, ...counts }),
        response_text: answerText(messages),
        ...more,
      }),
    );
    if (isKept) this.#history.push(...messages);
    this.#heard = null;
  }
}
