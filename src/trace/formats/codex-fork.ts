/**
 * A forked Codex session (and a sub-agent that was given its parent's context) begins with a copy of its parent's log, token counts
 * included, stamped anew or not. The parent's `session_meta` after its own announces the copy; the first turn that began after the
 * session was made is its own.
 */
import type { JsonObject } from "../../core/json.ts";
import type { Instant } from "../instant.ts";
import { isObject, scalarText } from "../openai-messages.ts";

/** The session that a `session_meta` says its own came from; empty for none. */
export function parentOf(meta: JsonObject): string {
  const source = isObject(meta["source"]) ? meta["source"] : {};
  const sub = isObject(source["subagent"]) ? source["subagent"] : {};
  const spawn = isObject(sub["thread_spawn"]) ? sub["thread_spawn"] : {};
  return scalarText(meta["forked_from_id"] ?? meta["parent_thread_id"] ?? spawn["parent_thread_id"]);
}

/** Copies are written at once: a pause of this much is not inside one. */
const PAUSE_MS = 1000;

export class CopiedHistory {
  readonly #own: string;
  readonly #made: Instant | null;
  readonly #byTime: boolean;
  #last: Instant | null;

  /** `made` is when the forked session began. */
  constructor(own: string, made: Instant | null, byTime: boolean) {
    this.#own = own;
    this.#made = made;
    this.#byTime = byTime;
    this.#last = made;
  }

  /** Whether the copy has ended and this row is the session's own. */
  endsBefore(type: string, payload: JsonObject, time: Instant | null): boolean {
    const before = this.#last;
    if (time !== null) this.#last = time;
    if (payload["type"] === "thread_settings_applied") return payload["thread_id"] === this.#own;
    if (this.#made === null) return false;
    const begins = type === "turn_context" || payload["type"] === "task_started";
    // Whole seconds; a session's first turn may begin in the second in which it was made.
    if (begins && typeof payload["started_at"] === "number")
      return payload["started_at"] >= Math.floor(this.#made.epoch_ms / 1000);
    const turn = begins ? uuidTime(scalarText(payload["turn_id"])) : null;
    if (turn !== null) return turn >= this.#made.epoch_ms;
    if (!this.#byTime || time === null || (!begins && payload["role"] !== "user")) return false;
    const pause = before === null ? Infinity : time.epoch_ms - before.epoch_ms;
    return time.epoch_ms > this.#made.epoch_ms && (pause >= PAUSE_MS || isEarlier(before, this.#made));
  }
}

function isEarlier(time: Instant | null, than: Instant): boolean {
  return time !== null && time.epoch_ms < than.epoch_ms;
}

/** The milliseconds that a version 7 UUID carries. */
function uuidTime(id: string): number | null {
  const match = /^([0-9a-f]{8})-([0-9a-f]{4})-7/i.exec(id);
  return match === null ? null : Number.parseInt(`${match[1]}${match[2]}`, 16);
}
