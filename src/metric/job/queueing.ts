import type { JobMetric } from "./job-view.ts";

/**
 * Σ over turns of `sent − intended`, ms: slot wait, lateness and connecting. Branches that wait in parallel each count,
 * so it can exceed the job's time.
 */
export const queueing: JobMetric = {
  id: "queueing",
  unit: "ms",
  title: "Queueing before sends",
  span: "Σ over turns of intended → sent",
  value: ({ rows, table: { columns } }) => {
    let sum = 0;
    for (const row of rows) sum += (columns.sent[row] as number) - (columns.intended[row] as number);
    return sum;
  },
};
