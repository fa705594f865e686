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

/** `budget` is `null` for a job without one; `runEnd` in ms from t0. */
export function over_budget(job: JobView, status: JobStatus, budget: Ms | null, runEnd: Ms): BudgetOutcome {
  if (status === "failed") return "over";
  if (status === "ok")
    return budget !== null && job.end_ms - job.start_ms > budget + ROUNDING_MS ? "over" : "within";
  if (Number.isNaN(job.start_ms) || job.start_ms > runEnd) return "not_started";
  return budget !== null && runEnd - job.start_ms > budget + ROUNDING_MS ? "over" : "censored";
}
