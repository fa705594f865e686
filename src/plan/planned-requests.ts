/** The requests and jobs of a trace's plan: lists over the columns of its workload, made when they are asked for. */
import { MadeList, type List } from "../core/list.ts";
import type { Ms, Tokens } from "../core/units.ts";
import type { Pacing } from "../record/manifest.ts";
import { lengthPrompt } from "../trace/new-request.ts";
import type { Reuse } from "../trace/prefix.ts";
import type { TracePrompt } from "../trace/trace-request.ts";
import { FIELD } from "../trace/trace-table.ts";
import type { OutputMode } from "./plan-options.ts";
import type { Plan, PlannedJob, PlannedRequest, PlannedTurn, Release } from "./plan.ts";
import { type OutputLength, outputLength, toldOutput } from "./transforms/output-length.ts";
import { countJobs, type Workload } from "./workload.ts";

/** How a workload is laid out as a plan. */
export interface PlanLayout {
  readonly work: Workload;
  readonly pacing: Exclude<Pacing, "load">;
  /** Job of the workload at each position of the plan. */
  readonly jobs: Int32Array;
  /** Start of each job of the plan (offset from the first); 0 where it is not known. */
  readonly starts: Float64Array;
  /** Turn of the workload at each index of the plan, and back. */
  readonly turns: Int32Array;
  readonly indexOf: Int32Array;
  /** Position in the plan of each turn's job. */
  readonly jobOf: Int32Array;
  readonly output: OutputMode;
  readonly share_copies: boolean;
  /** Leading blocks or messages of a copy's prompt that are the original's. */
  readonly common: ((prompt: TracePrompt) => number) | null;
}

export class PlannedRequests extends MadeList<PlannedRequest> {
  readonly #layout: PlanLayout;

  constructor(layout: PlanLayout) {
    super();
    this.#layout = layout;
  }

  get length(): number {
    return this.#layout.turns.length;
  }

  request_id(index: number): string {
    const { work, turns, jobs, jobOf } = this.#layout;
    const turn = turns[index] as number;
    const copy = work.copy[jobs[jobOf[turn] as number] as number] as number;
    return copyId(work.requests.ids.text(work.row[turn] as number), copy);
  }

  job(index: number): number {
    const { jobOf, turns } = this.#layout;
    return jobOf[turns[index] as number] as number;
  }

  release(index: number): Release {
    const { work, pacing, turns, jobs, starts, indexOf, jobOf } = this.#layout;
    const turn = turns[index] as number;
    const job = jobOf[turn] as number;
    const first = work.first[jobs[job] as number] as number;
    const told = work.offset_ms[turn] as Ms;
    const start = starts[job] as Ms;
    const offset_ms = Number.isNaN(told) ? start : told;
    const parents = (work.parents[turn] as readonly number[]).map(
      (parent) => indexOf[first + parent] as number,
    );
    if (pacing === "recorded") {
      // A turn goes at its time; it is skipped all the same if a parent has failed by then.
      return parents.length === 0 ? { kind: "at", offset_ms } : { kind: "at", offset_ms, needs: parents };
    }
    if (parents.length > 0) {
      const think_ms = work.think_ms[turn] as Ms;
      return { kind: "after", parents, think_ms: Number.isNaN(think_ms) ? 0 : think_ms };
    }
    if (pacing === "jobs") return { kind: "at", offset_ms };
    return {
      kind: "slot",
      delay_ms: (work.start_delay_ms[jobs[job] as number] as Ms) + offset_ms - start,
    };
  }

  protected make(index: number): PlannedRequest {
    const { work, turns, jobs, jobOf, output } = this.#layout;
    const { requests } = work;
    const turn = turns[index] as number;
    const row = work.row[turn] as number;
    const job = jobOf[turn] as number;
    const from = jobs[job] as number;
    const copy = work.copy[from] as number;
    const length = outputLength(toldOutput(work, turn), output);
    const number = requests.number(FIELD.turn, row);
    return {
      index,
      request_id: this.request_id(index),
      job,
      turn: Number.isNaN(number) ? turn - (work.first[from] as number) : number,
      agent: requests.agent(row),
      release: this.release(index),
      request: this.#turn(row, copy, length),
      planned_prompt_tokens: promptTokens(work, row),
      planned_output_tokens: length.planned_output_tokens,
    };
  }

  #turn(row: number, copy: number, length: OutputLength): PlannedTurn {
    const { work, common, share_copies } = this.#layout;
    const prompt = promptOf(work, row);
    const shared = copy === 0 || common === null ? 0 : common(prompt);
    const temperature = work.requests.number(FIELD.temperature, row);
    return {
      prompt,
      forced_output_tokens: length.forced_output_tokens,
      max_tokens: length.max_tokens,
      temperature: Number.isNaN(temperature) ? null : temperature,
      params: work.requests.whole(row)?.params ?? null,
      model: null,
      copy: share_copies ? 0 : copy,
      ...(shared === 0 ? {} : { common: shared }),
    };
  }
}

/** A made-up prompt of 0 tokens would be refused by every server: it is sent with 1. */
function isEmpty({ requests, input_tokens }: Workload, row: number): boolean {
  return (
    input_tokens === null &&
    requests.number(FIELD.prompt_tokens, row) < 1 &&
    requests.promptKind(row) === "length"
  );
}

export function countEmptyPrompts(work: Workload): number {
  let empty = 0;
  for (let turn = 0; turn < work.row.length; turn++) if (isEmpty(work, work.row[turn] as number)) empty++;
  return empty;
}

function promptOf(work: Workload, row: number): TracePrompt {
  if (work.input_tokens !== null) return lengthPrompt(work.input_tokens);
  return isEmpty(work, row) ? lengthPrompt(1) : work.requests.prompt(row);
}

function promptTokens(work: Workload, row: number): Tokens | null {
  if (work.input_tokens !== null) return work.input_tokens;
  if (isEmpty(work, row)) return 1;
  const recorded = work.requests.recordedPromptTokens(row);
  return Number.isNaN(recorded) ? null : recorded;
}

function copyId(id: string, copy: number): string {
  return copy === 0 ? id : `${id}~${copy}`;
}

export class PlannedJobs extends MadeList<PlannedJob> {
  readonly #layout: PlanLayout;
  /** Position in the plan of each original, by its number. */
  readonly #original: Int32Array;
  readonly #reuse: (job: number) => Reuse | null;

  /** `reuse`: what the workload's job finds in an endless prefix cache. */
  constructor(layout: PlanLayout, reuse: (job: number) => Reuse | null) {
    super();
    this.#layout = layout;
    this.#reuse = reuse;
    const { work, jobs } = layout;
    this.#original = new Int32Array(work.origin.reduce((most, origin) => Math.max(most, origin), 0) + 1);
    for (let index = 0; index < countJobs(work); index++) {
      const job = jobs[index] as number;
      if (work.copy[job] === 0) this.#original[work.origin[job] as number] = index;
    }
  }

  get length(): number {
    return this.#layout.jobs.length;
  }

  turns(index: number): number {
    const { work, jobs } = this.#layout;
    const job = jobs[index] as number;
    return (work.first[job + 1] as number) - (work.first[job] as number);
  }

  job_id(index: number): string {
    const { work, jobs } = this.#layout;
    const job = jobs[index] as number;
    return copyId(work.requests.jobs.text(work.job[job] as number), work.copy[job] as number);
  }

  /** What the job finds in an endless prefix cache; `null` = not known. */
  reuse(index: number): Reuse | null {
    return this.#reuse(this.#layout.jobs[index] as number);
  }

  protected make(index: number): PlannedJob {
    const { work, jobs, indexOf } = this.#layout;
    const job = jobs[index] as number;
    const copy = work.copy[job] as number;
    const budget = work.budget_ms[job] as Ms;
    return {
      index,
      job_id: this.job_id(index),
      requests: Array.from(indexOf.subarray(work.first[job], work.first[job + 1])),
      budget_ms: Number.isNaN(budget) ? null : budget,
      ...(copy === 0 ? {} : { copy_of: this.#original[work.origin[job] as number] as number }),
      recorded_ms: recordedTime(work, job),
      optimal_hit_rate: this.#reuse(job)?.hit_rate ?? null,
    };
  }
}

/** What the job took when it was recorded: first send (or arrival) → last end; `null` unless all ends are known. */
function recordedTime({ requests, first, row }: Workload, job: number): Ms | null {
  let begin = Infinity;
  let last = -Infinity;
  for (let turn = first[job] as number; turn < (first[job + 1] as number); turn++) {
    const at = row[turn] as number;
    const sent = requests.number(FIELD.sent_ms, at);
    const start = Number.isNaN(sent) ? requests.number(FIELD.arrival_ms, at) : sent;
    const end = requests.number(FIELD.end_ms, at);
    if (Number.isNaN(start) || Number.isNaN(end)) return null;
    begin = Math.min(begin, start);
    last = Math.max(last, end);
  }
  return last >= begin ? last - begin : null;
}

/** When the request at `index` becomes due, and in which job; the rest of it is not made where the list can do without. */
export function scheduleAt(
  requests: List<PlannedRequest>,
  index: number,
): Pick<PlannedRequest, "index" | "job" | "release"> {
  if (requests instanceof PlannedRequests)
    return { index, job: requests.job(index), release: requests.release(index) };
  return requests.at(index) as PlannedRequest;
}

export function requestIdAt(requests: List<PlannedRequest>, index: number): string {
  if (requests instanceof PlannedRequests) return requests.request_id(index);
  return (requests.at(index) as PlannedRequest).request_id;
}

export function jobIdAt(jobs: List<PlannedJob>, index: number): string {
  return jobs instanceof PlannedJobs ? jobs.job_id(index) : (jobs.at(index) as PlannedJob).job_id;
}

/** The plan's optimum over these of its jobs alone; `null` where it is not known by job. */
export function optimalOf(
  plan: Plan,
  jobs: readonly PlannedJob[],
): Pick<Plan, "optimal_hit_rate" | "optimal_cached_tokens"> | null {
  if (!(plan.jobs instanceof PlannedJobs) || plan.optimal_hit_rate === null) return null;
  let [prompt, cached] = [0, 0];
  for (const { index } of jobs) {
    const reuse = plan.jobs.reuse(index);
    prompt += reuse?.prompt_tokens ?? 0;
    cached += reuse?.cached_tokens ?? 0;
  }
  return prompt === 0 ? null : { optimal_hit_rate: cached / prompt, optimal_cached_tokens: cached };
}

/** How many requests the job at `index` has. */
export function turnsAt(jobs: List<PlannedJob>, index: number): number {
  return jobs instanceof PlannedJobs ? jobs.turns(index) : (jobs.at(index) as PlannedJob).requests.length;
}

/** How many requests the first `n` jobs have. */
export function turnsOfFirst(jobs: List<PlannedJob>, n: number): number {
  let turns = 0;
  for (let index = 0; index < n; index++) turns += turnsAt(jobs, index);
  return turns;
}
