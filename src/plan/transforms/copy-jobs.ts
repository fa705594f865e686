import type { Transformed, Workload } from "../workload.ts";

/**
 * Closed runs: every job `copies` times, round by round (all jobs once, then all again). A copy has ids of its own
 * (`job~1`) and a fresh `copy` number, so that its made-up text, and with it its prefix cache, is its own.
 */
export function copyJobs(jobs: Workload, copies: number, shared: boolean): Transformed {
  if (copies === 1) return { jobs, notes: [] };
  const all = [...jobs];
  for (let copy = 1; copy < copies; copy++) {
    for (const job of jobs) all.push({ ...job, job_id: `${job.job_id}~${copy}`, copy });
  }
  const sharing = shared ? "copies share their text" : "copies share no text";
  return { jobs: all, notes: [`${copies} copies of each of ${jobs.length} jobs (${sharing})`] };
}
