/**
 * Whether a job missed its budget. An ok job: `job_e2e` > budget. A failed job counts as over. An unfinished one is over
 * if it had already used up its budget when the run ended; else it is censored. A job due only after the run's end is
 * not started.
 */
import type { Ms } from "../../core/units.ts";
import type { JobStatus, JobView } from "./job-view.ts";

export type BudgetOutcome = "within" | "over" | "censored" | "not_started";

/** Rounding of the log's times (1 µs each) must not push a job over: exactly the budget is within it. */
export const ROUNDING_MS = 1e-6;

/** In ms from t0. What was in flight may still end between the two; nothing is begun. */
export interface RunLimits {
  readonly stopped_ms: Ms;
  readonly ended_ms: Ms;
}

/** `budget` is `null` for a job without one. */
export function over_budget(
  job: JobView,
  status: JobStatus,
  budget: Ms | null,
  { stopped_ms, ended_ms }: RunLimits,
): BudgetOutcome {
  if (status === "failed") return "over";
  if (status === "ok")
    return budget !== null && job.end_ms - job.start_ms > budget + ROUNDING_MS ? "over" : "within";
  // Due after the last send: not the server's delay, nor ours.
  const due = job.rows.length === 0 ? stopped_ms : ended_ms;
  if (Number.isNaN(job.start_ms) || job.start_ms > due) return "not_started";
  return budget !== null && ended_ms - job.start_ms > budget + ROUNDING_MS ? "over" : "censored";
}
