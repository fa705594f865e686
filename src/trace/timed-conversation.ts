/** A conversation whose messages are stamped when they are complete: each answer is a turn, sent when its last input was there. */
import type { JsonObject } from "../core/json.ts";
import type { Ms } from "../core/units.ts";
import { gapAfter } from "./instant.ts";
import { newRecorded, newRequest } from "./new-request.ts";
import { answerText } from "./openai-messages.ts";
import type { Recorded, TraceRequest } from "./trace-request.ts";

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
  #last: { readonly id: string; readonly end: Ms | null; readonly arrival: Ms | null } | null = null;

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
    const last = this.#last;
    const started = took_ms === null || end_ms === null ? null : end_ms - took_ms;
    // Nothing heard in between: the agent asked again at once.
    const sent = started ?? this.#heard ?? last?.end ?? null;
    const asked = sent ?? end_ms;
    const arrival = asked === null ? null : Math.max(asked, last?.arrival ?? asked);
    const id = `${this.job_id}/${this.requests.length}`;
    this.requests.push(
      newRequest({
        request_id: id,
        job_id: this.job_id,
        turn: this.requests.length,
        arrival_ms: arrival,
        after: last === null ? [] : [last.id],
        think_ms: last === null ? null : gapAfter(sent, [last.end]),
        prompt: { kind: "messages", messages: this.#history.slice(), tools: null },
        recorded: newRecorded({ sent_ms: sent, end_ms, ...counts }),
        response_text: answerText(messages),
        ...more,
      }),
    );
    if (isKept) this.#history.push(...messages);
    this.#heard = null;
    this.#last = { id, end: end_ms, arrival };
  }
}
