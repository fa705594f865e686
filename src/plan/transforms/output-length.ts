import type { Tokens } from "../../core/units.ts";
import type { OutputMode } from "../plan-options.ts";
import type { Workload } from "../workload.ts";
import { FIELD } from "../../trace/trace-table.ts";

export interface OutputLength {
  readonly forced_output_tokens: Tokens | null;
  readonly max_tokens: Tokens | null;
  readonly planned_output_tokens: Tokens | null;
}

/** Planned length, and the agent's cap; NaN = not told. */
export interface ToldOutput {
  readonly planned: Tokens;
  readonly cap: Tokens;
}

/** What the trace, or `--output-length`, says of a turn's output. */
export function toldOutput(work: Workload, turn: number): ToldOutput {
  if (work.output_tokens !== null) return { planned: work.output_tokens, cap: work.output_tokens };
  const row = work.row[turn] as number;
  return {
    planned: work.requests.plannedOutputTokens(row),
    cap: work.requests.number(FIELD.max_tokens, row),
  };
}

/**
 * `exact`: the recorded (else expected) length is forced, and is the cap too. `free`: the model may end where it likes,
 * up to the agent's own cap, else up to the recorded length. A length of 0 asks for 1: no server takes 0.
 */
export function outputLength({ planned, cap }: ToldOutput, mode: OutputMode): OutputLength {
  const length = Number.isNaN(planned) ? null : Math.max(planned, 1);
  if (mode === "exact" && length !== null)
    return { forced_output_tokens: length, max_tokens: length, planned_output_tokens: length };
  return {
    forced_output_tokens: null,
    max_tokens: Number.isNaN(cap) ? length : Math.max(cap, 1),
    planned_output_tokens: length,
  };
}

/** What was settled for the user, of `n` outputs. */
export function outputNotes(n: number, told: (index: number) => ToldOutput, mode: OutputMode): string[] {
  let [raised, capped] = [0, 0];
  for (let index = 0; index < n; index++) {
    const { planned, cap } = told(index);
    if (planned < 1) raised++;
    if (mode === "free" && Number.isNaN(cap) && !Number.isNaN(planned)) capped++;
  }
  const notes: string[] = [];
  if (raised > 0)
    notes.push(`${raised} requests with a recorded output of 0 tokens ask for 1 (no server takes 0)`);
  if (capped > 0)
    notes.push(`${capped} requests without max_tokens are left free up to their recorded length`);
  return notes;
}
