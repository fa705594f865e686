import type { JobMetric } from "./job-view.ts";

/** Requests of the job. */
export const job_turns: JobMetric = {
  id: "job_turns",
  unit: "turns",
  title: "Turns a job",
  span: "count",
  value: ({ rows }) => rows.length,
};
