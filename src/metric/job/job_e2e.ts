import type { JobMetric } from "./job-view.ts";

/** A job's time, ms: intended start → end of the last turn to end. */
export const job_e2e: JobMetric = {
  id: "job_e2e",
  unit: "ms",
  title: "Job time",
  span: "intended start → end of the last turn to end",
  value: (job) => job.end_ms - job.start_ms,
};
