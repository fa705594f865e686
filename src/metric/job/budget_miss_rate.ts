import type { JobsSummary } from "../summary.ts";

/** over ÷ (all jobs − censored − not started). `null` without a budget or without a job that counts. */
export function budget_miss_rate(counts: JobsSummary["counts"]): number | null {
  const judged = counts.total - counts.censored - counts.not_started;
  return counts.over_budget === null || judged <= 0 ? null : counts.over_budget / judged;
}
