/** What is in a trace: everything `reprise inspect` prints. Counts are facts of the file, before any transform. */
import { describeSamples, type Distribution } from "../core/quantile.ts";
import type { Ms, Tokens } from "../core/units.ts";
import { describeArrivals, epochUnit, type Arrivals } from "./arrivals.ts";
import type { JobTable } from "./job-table.ts";
import { resolveJobs } from "./jobs.ts";
import { optimalPrefixReuse, type Reuse } from "./prefix.ts";
import type { Provenance, RowCounts, Trace, TraceFault } from "./trace.ts";
import { FIELD, TraceTable } from "./trace-table.ts";

export interface Inspection {
  readonly format: string;
  readonly path: string;
  /** A request that belongs to nobody is a job of one turn. */
  readonly jobs: number;
  /** Requests to the model, sub-agents' counted in. */
  readonly turns: number;
  /** Σ of whole prompts over the turns that tell; `null` if none does. */
  readonly prompt_tokens: Tokens | null;
  /** Σ of output lengths, likewise. */
  readonly output_tokens: Tokens | null;
  /** Last − first arrival; 0 for one turn with a time; `null` without times. */
  readonly span_ms: Ms | null;
  /** Turns that do not tell their prompt's or their output's length. */
  readonly turns_without_prompt_tokens: number;
  readonly turns_without_output_tokens: number;
  readonly arrivals: Arrivals | null;
  readonly job_turns: Distribution;
  readonly prompt_length: Distribution;
  readonly output_length: Distribution;
  readonly think_time: ThinkTimes;
  readonly structure: Structure;
  readonly prefix: Prefix;
  readonly prompt_kinds: Readonly<Record<string, number>>;
  /** Turns by model, where the source names one. */
  readonly models: Readonly<Record<string, number>>;
  readonly agents: number;
  readonly budgets: { readonly jobs: number; readonly budget_ms: Distribution };
  readonly provenance: Provenance;
  readonly rows: RowCounts;
  readonly faults: readonly TraceFault[];
  /** Things to know. */
  readonly notes: readonly string[];
  /** Things that look wrong. */
  readonly warnings: readonly string[];
}

export interface ThinkTimes {
  /** Over turns with parents whose think time is known, ms. */
  readonly think_ms: Distribution;
  readonly recorded: number;
  readonly inferred: number;
  readonly missing: number;
  /** Turns that arrived before the recorded end of their last parent; their think time is 0. */
  readonly negative_gaps: number;
  /** Σ of tool time told, ms. */
  readonly tool_ms: Ms;
}

export interface Structure {
  /** Jobs of more than one turn. */
  readonly multi_turn_jobs: number;
  /** Jobs in which some turns may run side by side. */
  readonly parallel_jobs: number;
  /** The most turns of one job that may run at once (the widest level of its DAG). */
  readonly max_width: number;
  readonly job_depth: Distribution;
  /** Turns that wait for more than one parent. */
  readonly joins: number;
  /** Turns that more than one turn waits for. */
  readonly forks: number;
}

export interface Prefix {
  /** With one endless cache for all jobs. */
  readonly optimal_hit_rate: number | null;
  /** With a fresh endless cache for each job. */
  readonly within_jobs_hit_rate: number | null;
  readonly overall: Reuse;
  readonly within_jobs: Reuse;
  /** Hit rate of each job by itself. */
  readonly job_hit_rate: Distribution;
  readonly method: "blocks" | "ids" | "text" | "mixed" | null;
  readonly estimated: boolean;
  readonly unknown_turns: number;
}

/** Inspects a trace. Structural faults (cycles, unknown parents, ...) are a `UserError` as of `resolveJobs`. */
export function inspectTrace(trace: Trace): Inspection {
  const requests = TraceTable.of(trace.requests);
  const jobs = resolveJobs(requests);
  const prompts = known(requests.length, (row) => requests.recordedPromptTokens(row));
  const outputs = known(requests.length, (row) => requests.plannedOutputTokens(row));
  const arrivals = describeArrivals(known(requests.length, (row) => requests.number(FIELD.arrival_ms, row)));
  const reuse = optimalPrefixReuse(jobs);
  const rates = known(jobs.length, (job) => reuse.alone.hitRate(job) ?? NaN);
  const budgets = known(jobs.length, (job) => jobs.columns.budget_ms[job] as number);
  const think = thinkTimes(jobs);
  const agents = countBy(requests, (row) => requests.agent(row));
  return {
    format: trace.format,
    path: trace.path,
    jobs: jobs.length,
    turns: requests.length,
    prompt_tokens: total(prompts),
    output_tokens: total(outputs),
    span_ms: arrivals?.span_ms ?? null,
    turns_without_prompt_tokens: requests.length - prompts.length,
    turns_without_output_tokens: requests.length - outputs.length,
    arrivals,
    job_turns: describeSamples(jobs.turnCounts()),
    prompt_length: describeSamples(prompts),
    output_length: describeSamples(outputs),
    think_time: think,
    structure: structureOf(jobs),
    prefix: {
      optimal_hit_rate: reuse.overall.hit_rate,
      within_jobs_hit_rate: reuse.within_jobs.hit_rate,
      overall: reuse.overall,
      within_jobs: reuse.within_jobs,
      job_hit_rate: describeSamples(rates),
      method: reuse.method,
      estimated: reuse.estimated,
      unknown_turns: reuse.unknown_turns,
    },
    prompt_kinds: Object.fromEntries(countBy(requests, (row) => requests.promptKind(row))),
    models: Object.fromEntries(countBy(requests, (row) => modelOf(requests, row))),
    agents: agents.size,
    budgets: { jobs: budgets.length, budget_ms: describeSamples(budgets) },
    provenance: trace.provenance,
    rows: trace.rows,
    faults: trace.faults,
    notes: [...trace.notes, ...notesOf(arrivals, think)],
    warnings: warningsOf(arrivals, requests.length),
  };
}

/** What `of` tells of 0…n−1; NaN is left out. */
function known(n: number, of: (index: number) => number): number[] {
  const values: number[] = [];
  for (let index = 0; index < n; index++) {
    const value = of(index);
    if (!Number.isNaN(value)) values.push(value);
  }
  return values;
}

function total(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}

/** Rows by what `key` says of them, sorted by that. */
function countBy(requests: TraceTable, key: (row: number) => string | null): Map<string, number> {
  const counts = new Map<string, number>();
  for (let row = 0; row < requests.length; row++) {
    const name = key(row);
    if (name !== null) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return new Map([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The model a request went to: `metadata.model`, or `params.model`. */
function modelOf(requests: TraceTable, row: number): string | null {
  const whole = requests.whole(row);
  const model = whole?.metadata?.["model"] ?? whole?.params?.["model"];
  return typeof model === "string" ? model : null;
}

function thinkTimes({ columns, think_ms, turns }: JobTable): ThinkTimes {
  const { requests, row, parents, parent_end_ms } = columns;
  const times: number[] = [];
  const count = { recorded: 0, inferred: 0, missing: 0 };
  let [negative_gaps, tool_ms] = [0, 0];
  for (let turn = 0; turn < turns; turn++) {
    const at = row[turn] as number;
    for (const tool of requests.tools(at) ?? []) tool_ms += tool.ms;
    if (parents[turn]?.length === 0) continue;
    const think = think_ms[turn] as number;
    if (!Number.isNaN(think)) times.push(think);
    if (!Number.isNaN(requests.number(FIELD.think_ms, at))) count.recorded++;
    else if (Number.isNaN(think)) count.missing++;
    else {
      count.inferred++;
      if (requests.number(FIELD.arrival_ms, at) < (parent_end_ms[turn] as number)) negative_gaps++;
    }
  }
  return { think_ms: describeSamples(times), ...count, negative_gaps, tool_ms };
}

function structureOf({ columns: { first, parents: all }, length }: JobTable): Structure {
  let [multi_turn_jobs, parallel_jobs, max_width, joins, forks] = [0, 0, 0, 0, 0];
  const depths: number[] = [];
  for (let job = 0; job < length; job++) {
    const turns = all.slice(first[job], first[job + 1]);
    if (turns.every((parents, at) => (at === 0 ? parents.length === 0 : isOnly(parents, at - 1)))) {
      if (turns.length > 1) multi_turn_jobs++;
      max_width = Math.max(max_width, 1);
      depths.push(turns.length);
      continue;
    }
    const level = new Int32Array(turns.length);
    const children = new Int32Array(turns.length);
    const widths: number[] = [];
    const levelOf = new Map<readonly number[], number>();
    turns.forEach((parents, at) => {
      let own = levelOf.get(parents);
      if (own === undefined) {
        own = 0;
        for (const parent of parents) own = Math.max(own, (level[parent] as number) + 1);
        levelOf.set(parents, own);
      }
      level[at] = own;
      widths[own] = (widths[own] ?? 0) + 1;
      if (parents.length > 1) joins++;
      for (const parent of parents) children[parent] = (children[parent] as number) + 1;
    });
    for (const count of children) if (count > 1) forks++;
    const width = widths.reduce((a, b) => Math.max(a, b), 0);
    if (turns.length > 1) multi_turn_jobs++;
    if (width > 1) parallel_jobs++;
    max_width = Math.max(max_width, width);
    depths.push(widths.length);
  }
  return { multi_turn_jobs, parallel_jobs, max_width, job_depth: describeSamples(depths), joins, forks };
}

function isOnly(parents: readonly number[], parent: number): boolean {
  return parents.length === 1 && parents[0] === parent;
}

/** From here on an `arrival_ms` can only be a Unix time: 1973 in ms. */
const EPOCH_MS = 1e11;

function notesOf(arrivals: Arrivals | null, think: ThinkTimes): string[] {
  const notes: string[] = [];
  if (arrivals !== null && arrivals.first_ms >= EPOCH_MS) {
    const when = arrivals.first_ms < 8.64e15 ? ` (${new Date(arrivals.first_ms).toISOString()})` : "";
    notes.push(`timestamps are Unix times; they become offsets from the first arrival${when}`);
  }
  if (arrivals?.quantum_ms != null)
    notes.push(
      `arrivals are rounded to about ${arrivals.quantum_ms} ms (${arrivals.distinct} instants, up to ${arrivals.largest_burst} requests at one); --spread takes them apart`,
    );
  if (think.missing > 0)
    notes.push(
      `think time is unknown for ${think.missing} turns (no end of the turn before); it counts as 0`,
    );
  if (think.negative_gaps > 0)
    notes.push(
      `${think.negative_gaps} turns came before the recorded end of their parent; their think time is 0`,
    );
  return notes;
}

/**
 * Units that were misread show in the rate: no service gets 1,000 requests a second over a whole trace of ms, nor 100 at
 * fractions of one.
 */
function warningsOf(arrivals: Arrivals | null, turns: number): string[] {
  if (arrivals === null || turns < 2) return [];
  const { span_ms, rate_per_s } = arrivals;
  const warnings: string[] = [];
  const suspicious = arrivals.fractional ? 100 : 1000;
  if (span_ms > 0 && (rate_per_s as number) > suspicious)
    warnings.push(
      `${turns} requests in ${span_ms} ms (${Math.round(rate_per_s as number)} a second): are the timestamps in seconds?`,
    );
  const unit = epochUnit(arrivals.first_ms);
  if (unit !== null && warnings.length === 0)
    warnings.push(
      `the first arrival, ${arrivals.first_ms}, looks like Unix time in ${unit.name}, read as milliseconds`,
    );
  const mean_gap_ms = span_ms / (turns - 1);
  if (warnings.length === 0 && mean_gap_ms > 24 * 3_600_000)
    warnings.push(
      `${turns} requests in ${(span_ms / 86_400_000).toFixed(1)} days: are the timestamps finer than milliseconds?`,
    );
  return warnings;
}
