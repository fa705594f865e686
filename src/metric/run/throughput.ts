/** Rates over the measured window: ends and tokens that fall inside it ÷ its length. */
import type { Ms } from "../../core/units.ts";
import type { JobTable } from "../job/job-table.ts";
import { JOB_STATUS } from "../job/job-table.ts";
import { jobs_per_hour_per_user } from "../job/jobs_per_hour_per_user.ts";
import { OK, type RequestTable } from "../request-table.ts";
import type { Throughput } from "../summary.ts";
import { mean_concurrency, peak_concurrency } from "./concurrency.ts";

const MS_PER_HOUR = 3_600_000;

export interface ThroughputInput {
  readonly table: RequestTable;
  readonly jobs: JobTable;
  readonly window: { readonly start_ms: Ms; readonly end_ms: Ms } | null;
  readonly hasBudget: boolean;
  readonly meanJobTime: Ms | null;
  readonly gpus: number | null;
}

export function throughput(input: ThroughputInput): Throughput {
  const { table, jobs, window, gpus } = input;
  const perUser = jobs_per_hour_per_user(input.meanJobTime);
  if (window === null) return { ...NOTHING, jobs_per_hour_per_user: perUser };
  const length = window.end_ms - window.start_ms;
  const perSecond = (n: number | null): number | null => (n === null ? null : (n * 1000) / length);
  const { outputTokens, inputTokens } = table.tokens;
  let ended = 0;
  for (let row = 0; row < table.n; row++)
    if (table.status[row] === OK && isIn(table.columns.end[row], window)) ended++;
  const done = jobEnds(jobs, window);
  const jobsPerHour = (done.ok * MS_PER_HOUR) / length;
  return {
    requests_per_s: perSecond(ended),
    input_tokens_per_s: perSecond(inputTokens),
    output_tokens_per_s: perSecond(outputTokens),
    total_tokens_per_s:
      inputTokens === null || outputTokens === null ? null : perSecond(inputTokens + outputTokens),
    jobs_per_hour: jobsPerHour,
    jobs_in_budget_per_hour: input.hasBudget ? (done.within * MS_PER_HOUR) / length : null,
    jobs_per_hour_per_user: perUser,
    jobs_per_hour_per_gpu: gpus !== null && gpus > 0 ? jobsPerHour / gpus : null,
    peak_output_tokens_per_s: table.tokens.peakOutputTokens,
    peak_concurrency: peak_concurrency(table, window),
    mean_concurrency: mean_concurrency(table, window),
  };
}

/** Jobs that ended ok in the window, and those of them within their budget. */
function jobEnds(jobs: JobTable, window: { start_ms: Ms; end_ms: Ms }): { ok: number; within: number } {
  let ok = 0;
  let within = 0;
  for (let job = 0; job < jobs.n; job++) {
    if (JOB_STATUS[jobs.status[job] as number] !== "ok" || !isIn(jobs.end[job], window)) continue;
    ok++;
    if (jobs.outcomeOf(job) === "within") within++;
  }
  return { ok, within };
}

function isIn(at: number | undefined, window: { start_ms: Ms; end_ms: Ms }): boolean {
  return at !== undefined && at >= window.start_ms && at <= window.end_ms;
}

const NOTHING: Throughput = {
  requests_per_s: null,
  input_tokens_per_s: null,
  output_tokens_per_s: null,
  total_tokens_per_s: null,
  jobs_per_hour: null,
  jobs_in_budget_per_hour: null,
  jobs_per_hour_per_user: null,
  jobs_per_hour_per_gpu: null,
  peak_output_tokens_per_s: null,
  peak_concurrency: null,
  mean_concurrency: null,
};
