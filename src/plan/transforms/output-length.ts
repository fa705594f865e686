import type { Tokens } from "../../core/units.ts";
import { plannedOutputTokens, type TraceRequest } from "../../trace/trace-request.ts";
import type { OutputMode } from "../plan-options.ts";

export interface OutputLength {
  readonly forced_output_tokens: Tokens | null;
  readonly max_tokens: Tokens | null;
  readonly planned_output_tokens: Tokens | null;
}

/** What was settled for the user, to be counted into notes. */
export interface OutputAccount {
  raised: number;
  capped: number;
}

/**
 * `exact`: the recorded (else expected) length is forced, and is the cap too. `free`: the model may end where it likes,
 * up to the agent's own cap, else up to the recorded length. A length of 0 asks for 1: no server takes 0.
 */
export function outputLength(request: TraceRequest, mode: OutputMode, account: OutputAccount): OutputLength {
  const planned = atLeastOne(plannedOutputTokens(request), account);
  const cap = request.max_tokens === null ? null : Math.max(request.max_tokens, 1);
  if (mode === "exact" && planned !== null) {
    return { forced_output_tokens: planned, max_tokens: planned, planned_output_tokens: planned };
  }
  if (cap === null && planned !== null) account.capped++;
  return { forced_output_tokens: null, max_tokens: cap ?? planned, planned_output_tokens: planned };
}

function atLeastOne(tokens: Tokens | null, account: OutputAccount): Tokens | null {
  if (tokens === null || tokens >= 1) return tokens;
  account.raised++;
  return 1;
}

export function outputNotes(account: OutputAccount): string[] {
  const notes: string[] = [];
  if (account.raised > 0)
    notes.push(`${account.raised} requests with a recorded output of 0 tokens ask for 1 (no server takes 0)`);
  if (account.capped > 0)
    notes.push(`${account.capped} requests without max_tokens are left free up to their recorded length`);
  return notes;
}
