import { type JobMetric, sumOver } from "./job-view.ts";

/** Σ over the job's turns of output tokens. Not measured where one turn's count is unknown. */
export const job_output_tokens: JobMetric = {
  id: "job_output_tokens",
  unit: "tokens",
  title: "Output tokens a job",
  span: "Σ over turns",
  value: (job) => sumOver(job, job.table.columns.output_tokens),
};
