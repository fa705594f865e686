/** What completions and chat have in common: a list of choices, usage, the engine's own facts. */
import type { Delta } from "../protocol.ts";
import { ArrivalTimes, readMetaInfo, readSimulated, readTimings, readVllmMetrics } from "./engine-times.ts";
import { asCount, asFields, bareError, errorIn, type Fields, JsonReader } from "./json-event.ts";
import { choiceTokens, readUsage } from "./openai-usage.ts";

export abstract class ChoicesReader extends JsonReader {
  readonly #arrivals = new ArrivalTimes();
  /** Choices that have begun and not finished; made when a second choice is seen. */
  #open: Set<number> | null = null;
  #firstFinish: string | null = null;

  /** Fills `delta` from the first choice. `false` = not of this protocol. */
  protected abstract takeChoice(choice: Fields, delta: Delta): boolean;

  /** Whether another choice (`n` > 1) carries payload; `null` = not of this protocol. */
  protected abstract hasPayload(choice: Fields): boolean | null;

  protected override take(object: Fields, delta: Delta, streamed: boolean): boolean {
    const choices = object["choices"];
    // Groq's last chunk has it in a field of its own.
    const usage = asFields(object["usage"]) ?? asFields(asFields(object["x_groq"])?.["usage"]);
    const hasUsage = usage !== null;
    if (!streamed && (!Array.isArray(choices) || choices.length === 0)) {
      delta.error = bareError(object);
      return delta.error !== null;
    }
    if (choices === undefined || choices === null) {
      if (!hasUsage && object["timings"] === undefined) {
        delta.error = bareError(object);
        if (delta.error === null)
          delta.note = `event without choices: ${JSON.stringify(object).slice(0, 100)}`;
      }
    } else if (!Array.isArray(choices)) return false;
    else if (!this.#takeChoices(choices, delta)) return false;
    if (hasUsage) readUsage(usage, delta);
    readTimings(object, delta);
    readSimulated(object, delta);
    readVllmMetrics(object, delta);
    return true;
  }

  #takeChoices(choices: readonly unknown[], delta: Delta): boolean {
    for (const item of choices) {
      const choice = asFields(item);
      if (choice === null) return false;
      const index = asCount(choice["index"]) ?? 0;
      if (index === 0) {
        if (!this.takeChoice(choice, delta)) return false;
        this.#arrivals.read(choice, delta);
      } else {
        const payload = this.hasPayload(choice);
        if (payload === null) return false;
        if (payload) delta.other_choice = true;
        this.#open ??= new Set(this.#firstFinish === null ? [0] : []);
      }
      const tokens = choiceTokens(choice);
      if (tokens !== null) delta.chunk_tokens = (delta.chunk_tokens ?? 0) + tokens;
      if (choice["usage"] !== undefined) readUsage(choice["usage"], delta);
      const meta = asFields(choice["meta_info"]);
      if (meta !== null) readMetaInfo(meta, delta);
      const error = errorIn(choice);
      if (error !== null) delta.error ??= error === "" ? JSON.stringify(choice["error"]) : error;
      this.#finish(index, finishReason(choice["finish_reason"]), delta);
    }
    return true;
  }

  /** With several choices the answer is finished when all that were seen are. */
  #finish(index: number, reason: string | null, delta: Delta): void {
    if (this.#open !== null && reason === null && index > 0) this.#open.add(index);
    if (reason === null) return;
    if (reason === "error" || reason === "abort")
      delta.error ??= `the server ended the answer with finish_reason "${reason}"`;
    if (index === 0) this.#firstFinish = reason;
    this.#open?.delete(index);
    if (this.#open === null || this.#open.size === 0) delta.finish_reason = this.#firstFinish ?? reason;
  }
}

/** A finish reason that ends the answer: a non-empty string (SGLang: an object with a `type`). Some spell `null` as a string. */
export function finishReason(value: unknown): string | null {
  if (typeof value === "string") return /^(?:null|none)?$/i.test(value) ? null : value;
  const type = asFields(value)?.["type"];
  return typeof type === "string" && type !== "" ? type : null;
}
