import type { JobMetric } from "./job-view.ts";

/** ms: intended start → first token of the first turn. Of several first turns in parallel, the first to answer. */
export const job_first_token: JobMetric = {
  id: "job_first_token",
  unit: "ms",
  title: "Job to first token",
  span: "intended start → first token of the first turn",
  value: ({ table, firstRow, start_ms }) =>
    firstRow < 0 ? NaN : (table.columns.first_token[firstRow] as number) - start_ms,
};
