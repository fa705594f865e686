/** Writes AIPerf session rows: a job is a session, its first turn has a timestamp, later ones a delay and what they add. */
import { UserError } from "../../core/failure.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Tokens } from "../../core/units.ts";
import { MOONCAKE_BLOCK } from "../formats/mooncake.ts";
import type { ResolvedJob, ResolvedTurn } from "../job-table.ts";
import { resolveJobs } from "../jobs.ts";
import type { Trace } from "../trace.ts";
import { plannedOutputTokens, recordedPromptTokens, type TracePrompt } from "../trace-request.ts";
import { CoarseBlocks } from "./coarse-blocks.ts";
import type { WrittenRows } from "./mooncake-rows.ts";

/** Rows of all jobs, job by job. What AIPerf cannot say is told in the notes. */
export function aiperfRows(trace: Trace): WrittenRows {
  const jobs = resolveJobs(trace.requests);
  let first = Infinity;
  for (const { arrival_ms } of trace.requests) if (arrival_ms !== null) first = Math.min(first, arrival_ms);
  const writer = new SessionWriter(first === Infinity ? 0 : first);
  for (const job of jobs) writer.write(job);
  if (writer.lines.length === 0) throw new UserError("no request has the prompt that AIPerf rows need");
  return { lines: writer.lines, notes: writer.notes() };
}

/** One of AIPerf's sessions: turns one after the other, each prompt beginning with the one before and its answer. */
interface Session {
  readonly id: string;
  /** Length of the conversation after its last turn. */
  length: number;
  prompt: TracePrompt;
}

class SessionWriter {
  readonly lines: string[] = [];
  readonly #first: number;
  readonly #blocks = new CoarseBlocks(MOONCAKE_BLOCK);
  #branching = 0;
  #unknownThink = 0;
  #cut = 0;
  #untimed = 0;
  #left = 0;

  constructor(first: number) {
    this.#first = first;
  }

  notes(): string[] {
    return [
      ...(this.#branching > 0
        ? [`${this.#branching} jobs have branches: each is a session, and nobody waits for several`]
        : []),
      ...(this.#unknownThink > 0
        ? [`${this.#unknownThink} turns of unknown think time and arrival get delay 0`]
        : []),
      ...(this.#cut > 0
        ? [`${this.#cut} turns do not continue a prompt before them; each starts a session of its own`]
        : []),
      ...(this.#untimed > 0 ? [`${this.#untimed} of those have no arrival and start at once`] : []),
      ...(this.#left > 0 ? [`${this.#left} requests without a prompt length are left out`] : []),
      ...this.#blocks.notes(),
    ];
  }

  write({ job_id, turns }: ResolvedJob): void {
    if (
      turns.some(({ parents }, at) => parents.length !== (at === 0 ? 0 : 1) || (parents[0] ?? -1) !== at - 1)
    )
      this.#branching++;
    /** By the turn that came last in it. */
    const sessions = new Map<number, Session>();
    let count = 0;
    turns.forEach((turn, at) => {
      const { prompt } = turn.request;
      const isText = prompt.kind === "messages" || prompt.kind === "text";
      const tokens = isText ? 0 : recordedPromptTokens(turn.request);
      if (tokens === null || (!isText && tokens < 1)) {
        this.#left++;
        return;
      }
      const last = longestContinued(turn, sessions, prompt, tokens);
      const before = last === null ? null : (sessions.get(last) as Session);
      if (last !== null) sessions.delete(last);
      else if (count++ > 0) {
        this.#cut++;
        if (turn.request.arrival_ms === null) this.#untimed++;
      }
      const id = before?.id ?? (count === 1 ? job_id : `${job_id}~${count}`);
      const output = plannedOutputTokens(turn.request);
      this.#push({
        ...(turns.length > 1 ? { session_id: id } : {}),
        ...(output === null || output < 1 ? {} : { output_length: output }),
        ...(turn.request.params === null ? {} : { extra: turn.request.params }),
        ...this.#prompt(turn, tokens, before),
        ...this.#timing(turn, before === null),
      });
      sessions.set(at, { id, length: isText ? 0 : tokens + (output ?? 0), prompt });
    });
  }

  #prompt(turn: ResolvedTurn, tokens: Tokens, before: Session | null): JsonObject {
    const { prompt } = turn.request;
    if (prompt.kind === "text") return { messages: [{ role: "user", content: prompt.text }] };
    if (prompt.kind === "messages")
      return {
        messages: prompt.messages,
        ...(prompt.tools === null ? {} : { tools: prompt.tools }),
      };
    const input_length = tokens - (before?.length ?? 0);
    return before === null && (prompt.kind === "ids" || prompt.hash_ids !== null)
      ? { input_length, hash_ids: this.#blocks.names(prompt, tokens) }
      : { input_length, ...deltaIds(turn, input_length) };
  }

  #timing({ request, think_ms }: ResolvedTurn, opens: boolean): JsonObject {
    const { arrival_ms } = request;
    if (!opens && think_ms !== null) return { delay: think_ms };
    if (arrival_ms !== null) return { timestamp: arrival_ms - this.#first };
    if (opens) return {};
    this.#unknownThink++;
    return { delay: 0 };
  }

  #push(row: JsonObject): void {
    this.lines.push(JSON.stringify(row));
  }
}

/** The parent whose session a turn goes on with, the one with the longest conversation; `null` = it begins a session. */
function longestContinued(
  { parents }: ResolvedTurn,
  sessions: ReadonlyMap<number, Session>,
  prompt: TracePrompt,
  tokens: Tokens,
): number | null {
  let best: number | null = null;
  let length = -1;
  for (const parent of parents) {
    const session = sessions.get(parent);
    if (session === undefined || session.length <= length) continue;
    const isText = prompt.kind === "messages" || prompt.kind === "text";
    if (!isText && (tokens <= session.length || !continues(session.prompt, prompt))) continue;
    best = parent;
    length = session.length;
  }
  return best;
}

/**
 * Whether a prompt begins with the one before it, as a row of AIPerf's always does. Where the names of their blocks do not
 * tell, a longer prompt is taken to do so.
 */
function continues(before: TracePrompt, prompt: TracePrompt): boolean {
  if (before.kind === "ids" && prompt.kind === "ids") return beginsWith(prompt.ids, before.ids);
  if (before.kind !== "length" || prompt.kind !== "length") return true;
  if (before.hash_ids === null || prompt.hash_ids === null || before.block_tokens === null) return true;
  if (before.block_tokens !== prompt.block_tokens || before.hash_scope !== prompt.hash_scope) return true;
  const whole = Math.floor(before.tokens / before.block_tokens);
  return beginsWith(prompt.hash_ids, before.hash_ids.slice(0, whole));
}

function beginsWith<T>(list: readonly T[], start: readonly T[]): boolean {
  return start.every((item, at) => item === list[at]);
}

/** The names of what a turn adds, where the source (AIPerf's own rows) told them. */
function deltaIds({ request }: ResolvedTurn, added: number): JsonObject {
  const { metadata } = request;
  const ids = metadata?.["delta_hash_ids"];
  const fits =
    metadata?.["delta_tokens"] === added &&
    metadata["delta_block_tokens"] === MOONCAKE_BLOCK &&
    Array.isArray(ids) &&
    ids.length === Math.ceil(added / MOONCAKE_BLOCK);
  return fits ? { hash_ids: ids } : {};
}
