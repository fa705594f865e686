import type { Ms } from "../../core/units.ts";

/** The interactivity of a job: 3600 s ÷ mean `job_e2e`. `null` without an ok job. */
export function jobs_per_hour_per_user(meanJobTime: Ms | null): number | null {
  return meanJobTime === null || meanJobTime <= 0 ? null : 3_600_000 / meanJobTime;
}
