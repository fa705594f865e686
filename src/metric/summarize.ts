/** The log in, every number out: a pure function of a run's manifest, planned jobs and records. */
import { DEFAULT_PERCENTILES, type Distribution, describeSamples } from "../core/quantile.ts";
import type { Ms } from "../core/units.ts";
import type { Manifest, PlannedJobRecord } from "../record/manifest.ts";
import type { RequestRecord } from "../record/request-record.ts";
import type { Calibration } from "./calibration.ts";
import { type Clip, inClip } from "./clip.ts";
import { budget_miss_rate } from "./job/budget_miss_rate.ts";
import { CAUSES, type Cause } from "./job/causes.ts";
import { dominantCause } from "./job/critical_path.ts";
import { splitEngineTime, type EngineSplit } from "./job/engine_split.ts";
import { JOB_METRIC_IDS, type JobMetricId } from "./job/index.ts";
import type { JobBudget } from "./job/job_budget.ts";
import { JOB_STATUS, type JobTable, PlannedJobs, buildJobTable } from "./job/job-table.ts";
import type { RunLimits } from "./job/over_budget.ts";
import { FAILED, OK, type RequestTable, RequestTableBuilder } from "./request-table.ts";
import { type PooledMetricId, REQUEST_METRIC_IDS, type RequestMetricId } from "./request/index.ts";
import { counts } from "./run/counts.ts";
import { failures } from "./run/failures.ts";
import { fidelity } from "./run/fidelity.ts";
import { engineNumber } from "./run/engine-number.ts";
import { type GoodputObjective, goodput } from "./run/goodput.ts";
import { measured_window, windowClip } from "./run/measured_window.ts";
import { prefix_cache } from "./run/prefix_cache.ts";
import { steady_state } from "./run/steady_state.ts";
import { throughput } from "./run/throughput.ts";
import { DEFAULT_MAX_LATENESS_MS, validity } from "./run/validity.ts";
import { type DistributionId, type Slo, judgeSlo, percentileOf } from "./slo.ts";
import type { JobsSummary, RequestDistribution, RunFacts, Summary } from "./summary.ts";

/** A few rows in an array, or a whole log in batches. */
export type Rows<T> = Iterable<T> | AsyncIterable<readonly T[]>;

export interface RunInput {
  readonly manifest: Manifest;
  readonly jobs: Rows<PlannedJobRecord>;
  readonly records: Rows<RequestRecord>;
  readonly calibration?: Calibration | null;
}

export interface SummaryOptions {
  /** Default 50, 90, 95, 99. */
  readonly percentiles?: readonly number[];
  readonly goodput?: readonly GoodputObjective[];
  readonly slos?: readonly Slo[];
  readonly jobBudget?: JobBudget | null;
  /** `--max-lateness`, ms; default 5. */
  readonly maxLatenessMs?: Ms;
  /** Overrides the manifest's. */
  readonly gpus?: number | null;
}

/** Everything a report needs: the numbers, and the tables they come from. */
export interface RunAnalysis {
  readonly manifest: Manifest;
  readonly summary: Summary;
  readonly requests: RequestTable;
  readonly jobs: JobTable;
  readonly split: EngineSplit;
  readonly clip: Clip;
}

/** The numbers of a run. */
export async function summarizeRun(input: RunInput, options: SummaryOptions = {}): Promise<Summary> {
  return (await analyzeRun(input, options)).summary;
}

/** The numbers of a run with their tables. Reads the records once, in bounded memory (about 0.4 kB a request and 4 B a chunk). */
export async function analyzeRun(input: RunInput, options: SummaryOptions = {}): Promise<RunAnalysis> {
  const { manifest } = input;
  const clip = windowClip(manifest);
  const builder = new RequestTableBuilder(clip);
  const planned = new PlannedJobs();
  let known = 0;
  await forEachRow(input.jobs, (job) => {
    // A job that the file names twice counts once.
    if (builder.job(job.job_id) !== known) return;
    known++;
    planned.add(job);
  });
  await forEachRow(input.records, (record) => builder.add(record));
  const requests = builder.finish();
  const calibration = input.calibration ?? null;
  const split = splitEngineTime(requests, calibration, engineNumber(manifest, "prefill_mean_ms"));
  const jobs = buildJobTable({
    table: requests,
    planned,
    split,
    runEnd: runLimits(manifest, requests),
    budget: options.jobBudget ?? null,
    calibration,
  });
  const summary = summarize({ manifest, requests, jobs, split, clip }, options);
  return { manifest, summary, requests, jobs, split, clip };
}

async function forEachRow<T>(rows: Rows<T>, visit: (row: T) => void): Promise<void> {
  if (Symbol.asyncIterator in rows) {
    for await (const batch of rows) for (const row of batch) visit(row);
  } else for (const row of rows) visit(row);
}

/** When the run was over, ms from t0: as the manifest says, else the last end in the log. */
function runEnd(manifest: Manifest, { n, columns }: RequestTable): Ms {
  if (manifest.end !== null) return manifest.end.ended_ms;
  let last = 0;
  for (let row = 0; row < n; row++)
    if ((columns.end[row] as number) > last) last = columns.end[row] as number;
  return last;
}

function runLimits(manifest: Manifest, table: RequestTable): RunLimits {
  const ended_ms = runEnd(manifest, table);
  return { ended_ms, stopped_ms: Math.min(ended_ms, manifest.end?.stopped_ms ?? Infinity) };
}

function summarize(run: Omit<RunAnalysis, "summary">, options: SummaryOptions): Summary {
  const { manifest, requests, jobs, clip } = run;
  const count = counts(requests, manifest);
  const window = measured_window(requests, clip);
  const cache = prefix_cache(requests, clip, manifest);
  const jobSummary = summarizeJobs(run, options);
  const summary: Omit<Summary, "objectives"> = {
    reprise_summary: 1,
    run: runFacts(manifest),
    counts: count,
    failures: failures(requests),
    window_ms: window === null ? null : window.end_ms - window.start_ms,
    window,
    throughput: throughput({
      table: requests,
      jobs,
      window,
      hasBudget: jobSummary.budget.jobs > 0,
      meanJobTime: jobSummary.job_e2e.mean,
      gpus: options.gpus ?? manifest.plan.gpus,
    }),
    requests: summarizeRequests(requests, clip, options, count.overdue),
    failed_requests: {
      e2e: describeRows(requests, clip, requests.metrics.e2e, FAILED, percentiles(options)),
    },
    jobs: jobSummary,
    steady_state:
      manifest.plan.pacing === "closed"
        ? steady_state(
            jobs,
            manifest.plan.max_concurrent_jobs,
            manifest.plan.repeated === undefined ? null : Math.min(runEnd(manifest, requests), clip.to_ms),
          )
        : null,
    prefix_cache: cache,
    goodput: goodput(requests, clip, window, options.goodput ?? [], count.overdue),
    fidelity: fidelity(requests, clip, manifest, cache),
    engine: manifest.end?.engine ?? null,
    validity: validity(requests, manifest, count, options.maxLatenessMs ?? DEFAULT_MAX_LATENESS_MS),
  };
  return { ...summary, objectives: (options.slos ?? []).map((slo) => judgeSlo(slo, summary)) };
}

function runFacts({ id, started_at, label, target, plan, version, end }: Manifest): RunFacts {
  return {
    id,
    started_at,
    label,
    target: target.url,
    model: target.model,
    backend: target.backend,
    pacing: plan.pacing,
    simulated: target.simulated,
    interrupted: end?.interrupted ?? false,
    partial: end === null,
    trace: plan.trace,
    version,
  };
}

/** The percentiles asked for, and those that an objective on `metric` needs. */
function percentiles(options: SummaryOptions, metric?: DistributionId): readonly number[] {
  const base = options.percentiles ?? DEFAULT_PERCENTILES;
  if (metric === undefined) return base;
  const more = (options.slos ?? [])
    .map((slo) => percentileOf(slo, metric))
    .filter((p) => p !== null && !base.includes(p));
  return [...base, ...new Set(more)] as number[];
}

function summarizeRequests(
  table: RequestTable,
  clip: Clip,
  options: SummaryOptions,
  overdue: number | null,
): Record<RequestMetricId | PooledMetricId, RequestDistribution> {
  const single = Object.fromEntries(
    REQUEST_METRIC_IDS.map((id) => [
      id,
      describeRows(table, clip, table.metrics[id], OK, percentiles(options, id)),
    ]),
  ) as Record<RequestMetricId, Distribution>;
  const basis = table.gaps.itlBasis;
  const censored = overdue !== null && overdue > 0 ? { censored: overdue } : {};
  return {
    ...single,
    response: { ...single.response, ...censored },
    itl: { ...table.gaps.itl(percentiles(options, "itl")), ...(basis === null ? {} : { basis }) },
    chunk_gap: table.gaps.chunkGap(percentiles(options, "chunk_gap")),
  };
}

/** Values of requests with this status that were intended in the window. */
function describeRows(
  table: RequestTable,
  clip: Clip,
  column: Float64Array,
  status: number,
  wanted: readonly number[],
): Distribution {
  const { intended } = table.columns;
  return describeSamples(
    column.filter(
      (value, row) =>
        !Number.isNaN(value) && table.status[row] === status && inClip(intended[row] as number, clip),
    ),
    wanted,
  );
}

function summarizeJobs(run: Omit<RunAnalysis, "summary">, options: SummaryOptions): JobsSummary {
  const { jobs, clip, split, requests } = run;
  const by = { ok: 0, failed: 0, unfinished: 0, censored: 0, not_started: 0, over: 0, within: 0 };
  for (let job = 0; job < jobs.n; job++) {
    by[JOB_STATUS[jobs.status[job] as number] as "ok" | "failed" | "unfinished"]++;
    by[jobs.outcomeOf(job)]++;
  }
  const budgeted = Object.values(jobs.budgetSources).reduce((sum, n) => sum + n, 0);
  // Jobs that the plan counts but neither file names (a run killed before it wrote them) were not started.
  const unnamed = Math.max(0, run.manifest.plan.jobs - jobs.n);
  const count: JobsSummary["counts"] = {
    total: jobs.n + unnamed,
    ok: by.ok,
    failed: by.failed,
    unfinished: by.unfinished + unnamed,
    censored: by.censored,
    not_started: by.not_started + unnamed,
    over_budget: budgeted > 0 ? by.over : null,
  };
  // Jobs without status ok hold NaN.
  const counted = (value: number, job: number): boolean =>
    !Number.isNaN(value) && inClip(jobs.start[job] as number, clip);
  const distributions = Object.fromEntries(
    JOB_METRIC_IDS.map((id) => [
      id,
      describeSamples(jobs.metrics[id].filter(counted), percentiles(options, id)),
    ]),
  ) as Record<JobMetricId, Distribution>;
  const { server, estimated } = jobs.split;
  return {
    counts: count,
    budget_miss_rate: budget_miss_rate(count),
    budget: { jobs: budgeted, text: options.jobBudget?.text ?? null, sources: jobs.budgetSources },
    ...distributions,
    ...whereTimeGoes(jobs, clip),
    engine_split: {
      basis: server > 0 ? (estimated > 0 ? "mixed" : "server") : estimated > 0 ? "estimate" : null,
      server,
      estimated,
      sources: [...requests.engineSources.keys()].sort(),
      estimated_from: estimated > 0 ? split.estimatedFrom : null,
    },
  };
}

/** Mean over ok jobs by cause, and jobs by the cause with the largest share. */
function whereTimeGoes(
  jobs: JobTable,
  clip: Clip,
): { breakdown_ms: Record<Cause, Ms | null>; dominated_by: Partial<Record<Cause, number>> } {
  const sums = new Float64Array(CAUSES.length);
  const dominated = new Map<Cause, number>();
  let n = 0;
  for (let job = 0; job < jobs.n; job++) {
    const own = jobs.causes.subarray(job * CAUSES.length, (job + 1) * CAUSES.length);
    if (Number.isNaN(own[0]) || !inClip(jobs.start[job] as number, clip)) continue;
    n++;
    for (let i = 0; i < CAUSES.length; i++) sums[i] = (sums[i] as number) + (own[i] as number);
    const cause = dominantCause(own);
    dominated.set(cause, (dominated.get(cause) ?? 0) + 1);
  }
  return {
    breakdown_ms: Object.fromEntries(
      CAUSES.map((cause, i) => [cause, n === 0 ? null : (sums[i] as number) / n]),
    ) as Record<Cause, Ms | null>,
    dominated_by: Object.fromEntries(
      CAUSES.flatMap((cause) => {
        const jobsOf = dominated.get(cause);
        return jobsOf === undefined ? [] : [[cause, jobsOf] as const];
      }),
    ),
  };
}
