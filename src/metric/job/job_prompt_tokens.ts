import { type JobMetric, sumOver } from "./job-view.ts";

/** Σ over the job's turns of prompt tokens. Not measured where one turn's count is unknown. */
export const job_prompt_tokens: JobMetric = {
  id: "job_prompt_tokens",
  unit: "tokens",
  title: "Prompt tokens a job",
  span: "Σ over turns",
  value: (job) => sumOver(job, job.table.columns.prompt_tokens),
};
