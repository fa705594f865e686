/** The table of job metrics that have a distribution. A new one is a file beside this and a line here. */
import type { JobMetric } from "./job-view.ts";
import { job_answer } from "./job_answer.ts";
import { job_e2e } from "./job_e2e.ts";
import { job_first_token } from "./job_first_token.ts";
import { job_output_tokens } from "./job_output_tokens.ts";
import { job_prompt_tokens } from "./job_prompt_tokens.ts";
import { job_turns } from "./job_turns.ts";
import { queueing } from "./queueing.ts";

export const JOB_METRICS = {
  job_e2e,
  job_first_token,
  job_answer,
  queueing,
  job_turns,
  job_output_tokens,
  job_prompt_tokens,
} as const satisfies Record<string, JobMetric>;

export type JobMetricId = keyof typeof JOB_METRICS;

export const JOB_METRIC_IDS = Object.keys(JOB_METRICS) as JobMetricId[];
