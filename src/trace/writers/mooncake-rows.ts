/** Writes Mooncake rows: `timestamp` (int ms from the first), `input_length`, `output_length`, `hash_ids` of 512 tokens. */
import { UserError } from "../../core/failure.ts";
import { MOONCAKE_BLOCK } from "../formats/mooncake.ts";
import type { Trace } from "../trace.ts";
import { plannedOutputTokens, recordedPromptTokens, type TraceRequest } from "../trace-request.ts";
import { CoarseBlocks } from "./coarse-blocks.ts";

export interface WrittenRows {
  readonly lines: readonly string[];
  /** What the target format cannot say, one line each. */
  readonly notes: readonly string[];
}

/**
 * A request needs an arrival, a prompt length and an output length; one without is left out, and counted in the notes.
 * None left is a {@link UserError}.
 */
export function mooncakeRows(trace: Trace): WrittenRows {
  const blocks = new CoarseBlocks(MOONCAKE_BLOCK);
  const timed = trace.requests.filter(({ arrival_ms }) => arrival_ms !== null);
  const first = timed.reduce((least, { arrival_ms }) => Math.min(least, arrival_ms as number), Infinity);
  const asIs = timed.every(isMooncake);
  const lines: string[] = [];
  let unknown = 0;
  let rounded = false;
  const sorted = timed.toSorted((a, b) => (a.arrival_ms as number) - (b.arrival_ms as number));
  for (const request of sorted) {
    const input = recordedPromptTokens(request);
    const output = plannedOutputTokens(request);
    if (input === null || output === null || input < 1 || output < 1) {
      unknown++;
      continue;
    }
    const { prompt } = request;
    const offset = (request.arrival_ms as number) - first;
    const timestamp = Math.round(offset);
    rounded ||= timestamp !== offset;
    lines.push(
      JSON.stringify({
        timestamp,
        input_length: input,
        output_length: output,
        hash_ids: asIs && prompt.kind === "length" ? prompt.hash_ids : blocks.names(prompt, input),
      }),
    );
  }
  if (lines.length === 0)
    throw new UserError("no request has the arrival and the lengths that Mooncake rows need");
  const times = rounded ? ["arrivals are rounded to whole milliseconds"] : [];
  return { lines, notes: [...notesOf(trace, timed.length, unknown), ...times, ...blocks.notes()] };
}

/** Names that are no plain integers (keyed hashes, numbers beyond 2^53) are numbered anew: Mooncake's are integers. */
function isMooncake(request: TraceRequest): boolean {
  const { prompt } = request;
  return (
    prompt.kind === "length" &&
    prompt.hash_ids !== null &&
    prompt.block_tokens === MOONCAKE_BLOCK &&
    prompt.hash_scope === null &&
    prompt.tokens === recordedPromptTokens(request) &&
    prompt.hash_ids.length === Math.ceil(prompt.tokens / MOONCAKE_BLOCK) &&
    prompt.hash_ids.every((id) => typeof id === "number")
  );
}

function notesOf(trace: Trace, timed: number, unknown: number): string[] {
  const jobs = new Set(trace.requests.map(({ job_id }) => job_id)).size;
  const isText = trace.requests.some(({ prompt }) => prompt.kind === "text" || prompt.kind === "messages");
  return [
    ...(jobs < trace.requests.length
      ? ["jobs, order and think times cannot be written as Mooncake rows"]
      : []),
    ...(isText ? ["prompts with text are written as bare lengths; --anonymize makes blocks of them"] : []),
    ...(timed < trace.requests.length
      ? [`${trace.requests.length - timed} requests without an arrival are left out`]
      : []),
    ...(unknown > 0 ? [`${unknown} requests without a prompt or an output length are left out`] : []),
  ];
}
