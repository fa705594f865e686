/** Spare copies of a closed run: what the plan was, once it is known which of them were begun. */
import { join } from "node:path";
import type { Plan, PlannedJob } from "../plan/plan.ts";
import { turnsOfFirst } from "../plan/planned-requests.ts";
import { readRecords } from "../record/read-run.ts";

export interface BegunPlan {
  readonly jobs: readonly PlannedJob[];
  /** Turns of these jobs. */
  readonly requests: number;
  /** Turns of the others. */
  readonly dropped: number;
}

/** The jobs that the spare ones are copies of. */
export function repeatedOf(
  plan: Plan,
  spareFrom: number,
): { readonly jobs: number; readonly requests: number } {
  return { jobs: spareFrom, requests: turnsOfFirst(plan.jobs, spareFrom) };
}

/** Spare jobs without a record in the folder's log were never begun; all others count as planned. */
export async function begunPlan(folder: string, plan: Plan, spareFrom: number): Promise<BegunPlan> {
  const begun = new Set<string>();
  for await (const batch of readRecords(join(folder, "records.jsonl")))
    for (const { job_id } of batch) begun.add(job_id);
  const jobs = plan.jobs.filter((job) => job.index < spareFrom || begun.has(job.job_id));
  const requests = jobs.reduce((sum, job) => sum + job.requests.length, 0);
  return { jobs, requests, dropped: plan.requests.length - requests };
}
