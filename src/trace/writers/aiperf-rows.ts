/** Writes AIPerf session rows: a job is a session, its first turn has a timestamp, later ones a delay and what they add. */
import { UserError } from "../../core/failure.ts";
import type { JsonObject } from "../../core/json.ts";
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

class SessionWriter {
  readonly lines: string[] = [];
  readonly #first: number;
  readonly #blocks = new CoarseBlocks(MOONCAKE_BLOCK);
  #branching = 0;
  #unknownThink = 0;
  #cut = 0;
  #left = 0;

  constructor(first: number) {
    this.#first = first;
  }

  notes(): string[] {
    return [
      ...(this.#branching > 0 ? [`${this.#branching} jobs with branches are written as sequences`] : []),
      ...(this.#unknownThink > 0 ? [`${this.#unknownThink} turns of unknown think time get delay 0`] : []),
      ...(this.#cut > 0
        ? [`${this.#cut} turns do not continue the prompt before them; each starts a session of its own`]
        : []),
      ...(this.#left > 0 ? [`${this.#left} requests without a prompt length are left out`] : []),
      ...this.#blocks.notes(),
    ];
  }

  write(job: ResolvedJob): void {
    if (
      job.turns.some(({ parents }, at) =>
        at === 0 ? parents.length > 0 : parents.length !== 1 || parents[0] !== at - 1,
      )
    )
      this.#branching++;
    let session = job.job_id;
    let part = 1;
    /** Length of the conversation after the last written turn; `null` = none yet in this session. */
    let length: number | null = null;
    let before: TracePrompt | null = null;
    for (const turn of job.turns) {
      const { request } = turn;
      const output = plannedOutputTokens(request);
      const base: JsonObject = {
        ...(job.turns.length > 1 ? { session_id: session } : {}),
        ...(output === null || output < 1 ? {} : { output_length: output }),
        ...(request.params === null ? {} : { extra: request.params }),
      };
      const { prompt } = request;
      if (prompt.kind === "messages" || prompt.kind === "text") {
        const messages =
          prompt.kind === "messages" ? prompt.messages : [{ role: "user", content: prompt.text }];
        const tools = prompt.kind === "messages" && prompt.tools !== null ? { tools: prompt.tools } : {};
        this.#push({ ...base, messages, ...tools, ...this.#timing(turn, length === null) });
        length = 0;
        continue;
      }
      const tokens = recordedPromptTokens(request);
      if (tokens === null || tokens < 1) {
        this.#left++;
        continue;
      }
      let added: number = length === null ? tokens : tokens - length;
      if (length !== null && (added < 1 || !continues(before, prompt))) {
        this.#cut++;
        part++;
        session = `${job.job_id}~${part}`;
        length = null;
        added = tokens;
      }
      this.#push({
        ...base,
        ...(job.turns.length > 1 ? { session_id: session } : {}),
        input_length: added,
        ...(length === null && (prompt.kind === "ids" || prompt.hash_ids !== null)
          ? { hash_ids: this.#blocks.names(prompt, tokens) }
          : deltaIds(turn, added)),
        ...this.#timing(turn, length === null),
      });
      length = tokens + (output ?? 0);
      before = prompt;
    }
  }

  #timing({ request, think_ms }: ResolvedTurn, opens: boolean): JsonObject {
    if (opens) return request.arrival_ms === null ? {} : { timestamp: request.arrival_ms - this.#first };
    if (think_ms === null) this.#unknownThink++;
    return { delay: think_ms ?? 0 };
  }

  #push(row: JsonObject): void {
    this.lines.push(JSON.stringify(row));
  }
}

/**
 * Whether a prompt begins with the one before it, as a row of AIPerf's always does. Where the names of their blocks do not
 * tell, a longer prompt is taken to do so.
 */
function continues(before: TracePrompt | null, prompt: TracePrompt): boolean {
  if (before?.kind === "ids" && prompt.kind === "ids") return beginsWith(prompt.ids, before.ids);
  if (before?.kind !== "length" || prompt.kind !== "length") return true;
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
