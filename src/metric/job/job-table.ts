/** All jobs of a run as columns. */
import { FAILURE_CODES } from "../../core/failure.ts";
import type { Ms } from "../../core/units.ts";
import type { PlannedJobRecord } from "../../record/manifest.ts";
import type { Calibration } from "../calibration.ts";
import { NumberColumn, groupBy } from "../../core/column.ts";
import { FAILED, OK, type RequestTable, SKIPPED } from "../request-table.ts";
import { CAUSES, type Cause } from "./causes.ts";
import { breakdown, criticalPath, dominantCause } from "./critical_path.ts";
import type { EngineSplit } from "./engine_split.ts";
import { JOB_METRICS, JOB_METRIC_IDS, type JobMetricId } from "./index.ts";
import { type BudgetSource, type JobBudget, budgetOf } from "./job_budget.ts";
import { type JobStatus, type JobView, viewJob } from "./job-view.ts";
import { type BudgetOutcome, over_budget, type RunLimits } from "./over_budget.ts";

export const JOB_STATUS: readonly JobStatus[] = ["ok", "failed", "unfinished"];
const OUTCOMES: readonly BudgetOutcome[] = ["within", "over", "censored", "not_started"];
const SOURCES: readonly BudgetSource[] = ["trace", "flag", "calibration", "recorded"];

/** What the plan said of the jobs, as columns; NaN where it did not. Position = job of the request table. */
export class PlannedJobs {
  readonly turns = new NumberColumn();
  readonly budget = new NumberColumn();
  readonly start = new NumberColumn();
  readonly recorded = new NumberColumn();
  readonly unloaded = new NumberColumn();
  readonly optimal = new NumberColumn();

  add(job: PlannedJobRecord): void {
    this.turns.push(job.turns);
    this.budget.push(job.budget_ms);
    this.start.push(job.start_ms);
    this.recorded.push(job.recorded_ms);
    this.unloaded.push(job.unloaded_ms ?? null);
    this.optimal.push(job.optimal_hit_rate);
  }
}

export interface JobRow {
  readonly job_id: string;
  readonly status: JobStatus;
  /** Against its budget; `null` where no budget judges it. */
  readonly outcome: BudgetOutcome | null;
  readonly budget_ms: Ms | null;
  readonly budget_source: BudgetSource | null;
  readonly start_ms: Ms | null;
  readonly end_ms: Ms | null;
  readonly planned_turns: number | null;
  readonly metrics: Readonly<Record<JobMetricId, number | null>>;
  /** Only for ok jobs. */
  readonly breakdown_ms: Readonly<Record<Cause, Ms>> | null;
  readonly dominated_by: Cause | null;
  readonly optimal_hit_rate: number | null;
  /** Cached ÷ prompt tokens over the turns that told both. */
  readonly hit_rate: number | null;
  /** First failure of its turns. */
  readonly failure: string | null;
}

export interface JobTable {
  readonly n: number;
  readonly ids: readonly string[];
  /** Position in JOB_STATUS. */
  readonly status: Uint8Array;
  readonly outcome: Uint8Array;
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly budget: Float64Array;
  readonly metrics: Readonly<Record<JobMetricId, Float64Array>>;
  /** CAUSES.length values a job; NaN where there is no breakdown. */
  readonly causes: Float64Array;
  readonly budgetSources: Readonly<Partial<Record<BudgetSource, number>>>;
  /** Turns of ok jobs on critical paths with a first token: told by the server, estimated. */
  readonly split: { readonly server: number; readonly estimated: number };
  outcomeOf(job: number): BudgetOutcome;
  view(job: number): JobView;
  row(job: number): JobRow;
}

export interface JobTableInput {
  readonly table: RequestTable;
  readonly planned: PlannedJobs;
  readonly split: EngineSplit;
  readonly runEnd: RunLimits;
  readonly budget: JobBudget | null;
  readonly calibration: Calibration | null;
}

export function buildJobTable(input: JobTableInput): JobTable {
  const { table, planned, split, runEnd, calibration } = input;
  const n = table.jobIds.length;
  const groups = groupBy(table.job, n);
  const columns = {
    turns: planned.turns.values(),
    budget: planned.budget.values(),
    start: planned.start.values(),
    recorded: planned.recorded.values(),
    unloaded: planned.unloaded.values(),
    optimal: planned.optimal.values(),
  };
  const told = (column: Float64Array, job: number): number => column[job] ?? NaN;
  const status = new Uint8Array(n);
  const outcome = new Uint8Array(n);
  const source = new Int8Array(n).fill(-1);
  const [start, end, budget] = [new Float64Array(n), new Float64Array(n), new Float64Array(n).fill(NaN)];
  const metrics = Object.fromEntries(
    JOB_METRIC_IDS.map((id) => [id, new Float64Array(n).fill(NaN)]),
  ) as Record<JobMetricId, Float64Array>;
  const causes = new Float64Array(n * CAUSES.length).fill(NaN);
  const budgetSources: Partial<Record<BudgetSource, number>> = {};
  let server = 0;
  let estimated = 0;
  const rowsOf = (job: number): Int32Array =>
    groups.order.subarray(groups.starts[job], groups.starts[job + 1]);
  const view = (job: number): JobView => viewJob(table, rowsOf(job), told(columns.start, job));

  for (let job = 0; job < n; job++) {
    const seen = view(job);
    const state = jobStatus(table, seen.rows, told(columns.turns, job));
    status[job] = JOB_STATUS.indexOf(state);
    start[job] = seen.start_ms;
    end[job] = seen.end_ms;
    const limit = budgetOf(
      {
        budget_ms: told(columns.budget, job),
        recorded_ms: told(columns.recorded, job),
        unloaded_ms: told(columns.unloaded, job),
      },
      seen,
      state === "ok",
      input.budget,
      calibration,
    );
    if (limit !== null) {
      budget[job] = limit.ms;
      source[job] = SOURCES.indexOf(limit.source);
      budgetSources[limit.source] = (budgetSources[limit.source] ?? 0) + 1;
    }
    outcome[job] = OUTCOMES.indexOf(over_budget(seen, state, limit?.ms ?? null, runEnd));
    if (state !== "ok") continue;
    for (const id of JOB_METRIC_IDS) metrics[id][job] = JOB_METRICS[id].value(seen);
    const path = criticalPath(seen);
    const sums = breakdown(seen, path, split);
    if (sums === null) continue;
    causes.set(sums, job * CAUSES.length);
    for (const { row } of path) {
      if (Number.isNaN(table.metrics.ttft[row])) continue;
      if (split.told(row)) server++;
      else estimated++;
    }
  }

  const anyBudget = Object.keys(budgetSources).length > 0;
  // A failed job is over any budget, so the run's having one is enough; an unfinished one has its state anyway.
  const isJudged = (job: number): boolean =>
    JOB_STATUS[status[job] as number] === "ok"
      ? !Number.isNaN(budget[job])
      : JOB_STATUS[status[job] as number] === "unfinished" || anyBudget;
  const orNull = (value: number | undefined): number | null =>
    value === undefined || Number.isNaN(value) ? null : value;
  return {
    n,
    ids: table.jobIds,
    status,
    outcome,
    start,
    end,
    budget,
    metrics,
    causes,
    budgetSources,
    split: { server, estimated },
    outcomeOf: (job) => OUTCOMES[outcome[job] as number] as BudgetOutcome,
    view,
    row: (job) => {
      const sums = causes.subarray(job * CAUSES.length, (job + 1) * CAUSES.length);
      const known = !Number.isNaN(sums[0]);
      return {
        job_id: table.jobIds[job] as string,
        status: JOB_STATUS[status[job] as number] as JobStatus,
        outcome: isJudged(job) ? (OUTCOMES[outcome[job] as number] as BudgetOutcome) : null,
        budget_ms: orNull(budget[job]),
        budget_source: SOURCES[source[job] as number] ?? null,
        start_ms: orNull(start[job]),
        end_ms: orNull(end[job]),
        planned_turns: orNull(told(columns.turns, job)),
        metrics: Object.fromEntries(JOB_METRIC_IDS.map((id) => [id, orNull(metrics[id][job])])) as Record<
          JobMetricId,
          number | null
        >,
        breakdown_ms: known
          ? (Object.fromEntries(CAUSES.map((cause, i) => [cause, sums[i]])) as Record<Cause, Ms>)
          : null,
        dominated_by: known ? dominantCause(sums) : null,
        optimal_hit_rate: orNull(told(columns.optimal, job)),
        hit_rate: hitRate(table, rowsOf(job)),
        failure: firstFailure(table, rowsOf(job)),
      };
    },
  };
}

/** ok when all planned turns are; failed when one failed or was skipped; unfinished when the run ended first. */
function jobStatus(table: RequestTable, rows: Int32Array, plannedTurns: number): JobStatus {
  let ok = 0;
  for (const row of rows) {
    const state = table.status[row];
    if (state === FAILED || state === SKIPPED) return "failed";
    if (state === OK) ok++;
  }
  const wanted = Number.isNaN(plannedTurns) ? rows.length : Math.max(plannedTurns, rows.length);
  return ok > 0 && ok === wanted ? "ok" : "unfinished";
}

function hitRate(table: RequestTable, rows: Int32Array): number | null {
  let cached = 0;
  let prompt = 0;
  for (const row of rows) {
    const hit = table.columns.cached_tokens[row] as number;
    const whole = table.columns.prompt_tokens[row] as number;
    if (table.status[row] !== OK || Number.isNaN(hit) || Number.isNaN(whole)) continue;
    cached += hit;
    prompt += whole;
  }
  return prompt > 0 ? cached / prompt : null;
}

function firstFailure(table: RequestTable, rows: Int32Array): string | null {
  for (const row of rows) {
    const code = table.failure[row] as number;
    if (table.status[row] === FAILED && code >= 0) return FAILURE_CODES[code] ?? null;
  }
  return null;
}
