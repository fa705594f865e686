/** One row of the comparison: a cell, its runs, and their numbers joined. */
import type { Summary } from "../metric/summary.ts";
import type { Cell } from "./grid.ts";

/** One finished (or failed) run of a cell. */
export interface CellRunResult {
  readonly slug: string;
  readonly repeat: number;
  readonly status: "done" | "failed" | "interrupted";
  /** Run folder; `null` if the server never came up. */
  readonly folder: string | null;
  readonly summary: Summary | null;
  /** Why it failed: one line. */
  readonly error: string | null;
  /** GPUs that the launch command takes. */
  readonly gpus: number | null;
  readonly notes: readonly string[];
}

/** Columns of the comparison, in order: id → value of one run; `null` = not measured. */
export const CELL_METRICS = {
  ttft_p50_ms: (s: Summary) => s.requests.ttft.p50 ?? null,
  ttft_p99_ms: (s: Summary) => s.requests.ttft.p99 ?? null,
  tpot_p50_ms: (s: Summary) => s.requests.tpot.p50 ?? null,
  tpot_p99_ms: (s: Summary) => s.requests.tpot.p99 ?? null,
  job_e2e_mean_ms: (s: Summary) => s.jobs.job_e2e.mean,
  job_e2e_p50_ms: (s: Summary) => s.jobs.job_e2e.p50 ?? null,
  job_e2e_p99_ms: (s: Summary) => s.jobs.job_e2e.p99 ?? null,
  job_queueing_mean_ms: (s: Summary) => s.jobs.queueing.mean,
  job_queueing_p50_ms: (s: Summary) => s.jobs.queueing.p50 ?? null,
  job_queueing_p99_ms: (s: Summary) => s.jobs.queueing.p99 ?? null,
  engine_queue_mean_ms: (s: Summary) => s.jobs.breakdown_ms.engine_queue ?? null,
  prefill_mean_ms: (s: Summary) => s.jobs.breakdown_ms.prefill ?? null,
  decode_mean_ms: (s: Summary) => s.jobs.breakdown_ms.decode ?? null,
  jobs_per_hour: (s: Summary) => s.throughput.jobs_per_hour,
  steady_jobs_per_hour: (s: Summary) => s.steady_state?.jobs_per_hour ?? null,
  jobs_in_budget_per_hour: (s: Summary) => s.throughput.jobs_in_budget_per_hour,
  jobs_per_hour_per_user: (s: Summary) => s.throughput.jobs_per_hour_per_user,
  jobs_per_hour_per_gpu: (s: Summary) => s.throughput.jobs_per_hour_per_gpu,
  budget_miss_rate: (s: Summary) => s.jobs.budget_miss_rate,
  output_tokens_per_s: (s: Summary) => s.throughput.output_tokens_per_s,
  // The median: a few replies whose tokens came in one burst would make the mean meaningless.
  output_tokens_per_s_per_user: (s: Summary) => s.requests.output_tps.p50 ?? null,
  prefix_hit_rate: (s: Summary) => s.prefix_cache.hit_rate,
} as const satisfies Record<string, (summary: Summary) => number | null>;

export type CellMetric = keyof typeof CELL_METRICS;
export const CELL_METRIC_IDS = Object.keys(CELL_METRICS) as CellMetric[];

/** Mean over the repeats that measured it, with their range. */
export interface Joined {
  readonly n: number;
  readonly mean: number | null;
  readonly min: number | null;
  readonly max: number | null;
}

export interface CellResult {
  readonly cell: Cell;
  readonly runs: readonly CellRunResult[];
  readonly repeats_wanted: number;
  readonly metrics: Readonly<Record<CellMetric, Joined>>;
  readonly jobs: { readonly ok: number; readonly failed: number; readonly unfinished: number };
  /** Failed requests over all runs. */
  readonly errors: number;
  readonly sent: number;
  /** All objectives met in every run; `null` without objectives. */
  readonly objectives_met: boolean | null;
  /** `done` only when every repeat has run. */
  readonly status: "done" | "failed" | "incomplete" | "not run";
  readonly reasons: readonly string[];
}

export function joinCell(cell: Cell, runs: readonly CellRunResult[], repeats: number): CellResult {
  const own = runs.filter(({ slug }) => slug === cell.slug).toSorted((a, b) => a.repeat - b.repeat);
  const done = own.filter(({ status }) => status === "done");
  const summaries = done.flatMap(({ summary }) => (summary === null ? [] : [summary]));
  const failed = own.filter(({ status }) => status === "failed");
  const objectives = summaries.flatMap((summary) => summary.objectives);
  const sum = (value: (summary: Summary) => number): number =>
    summaries.reduce((total, each) => total + value(each), 0);
  return {
    cell,
    runs: own,
    repeats_wanted: repeats,
    metrics: Object.fromEntries(
      CELL_METRIC_IDS.map((id) => [id, join(summaries.map(CELL_METRICS[id]))]),
    ) as Record<CellMetric, Joined>,
    jobs: {
      ok: sum(({ jobs }) => jobs.counts.ok),
      failed: sum(({ jobs }) => jobs.counts.failed),
      unfinished: sum(({ jobs }) => jobs.counts.unfinished),
    },
    errors: sum(({ counts }) => counts.failed),
    sent: sum(({ counts }) => counts.sent),
    objectives_met: objectives.length === 0 ? null : objectives.every(({ met }) => met),
    status:
      failed.length > 0
        ? "failed"
        : done.length >= repeats
          ? "done"
          : own.length === 0
            ? "not run"
            : "incomplete",
    reasons: [
      ...failed.map(({ repeat, error }) => `run ${repeat}: ${error ?? "failed"}`),
      ...summaries.flatMap(({ validity }) =>
        validity.verdict === "valid" ? [] : [`${validity.verdict}: ${validity.reasons.join("; ")}`],
      ),
    ],
  };
}

function join(values: readonly (number | null)[]): Joined {
  const measured = values.filter((value): value is number => value !== null);
  if (measured.length === 0) return { n: 0, mean: null, min: null, max: null };
  return {
    n: measured.length,
    mean: measured.reduce((a, b) => a + b, 0) / measured.length,
    min: Math.min(...measured),
    max: Math.max(...measured),
  };
}
