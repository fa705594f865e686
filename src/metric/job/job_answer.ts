import type { JobMetric } from "./job-view.ts";

/** ms: intended start → first token of the final turn (the one that ended last). */
export const job_answer: JobMetric = {
  id: "job_answer",
  unit: "ms",
  title: "Job to answer",
  span: "intended start → first token of the final turn",
  value: ({ table, lastRow, start_ms }) =>
    lastRow < 0 ? NaN : (table.columns.first_token[lastRow] as number) - start_ms,
};
