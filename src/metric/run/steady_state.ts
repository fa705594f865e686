/**
 * The steady state of a closed run with N jobs at a time: from the instant all N slots have been filled to the first job
 * end after the last job start. Only jobs that end in it are credited. `null` below 2N jobs, and for other runs. A run that
 * repeats its jobs until a duration is over keeps all slots in use until it is cut: its steady state lasts until then.
 */
import type { Ms } from "../../core/units.ts";
import type { JobTable } from "../job/job-table.ts";
import { JOB_STATUS } from "../job/job-table.ts";
import type { SteadyState } from "../summary.ts";

/** `cutAt`: when a run that repeats its jobs was cut, ms from t0; `null` for others. */
export function steady_state(jobs: JobTable, slots: number | null, cutAt: Ms | null): SteadyState | null {
  if (slots === null || slots < 1) return null;
  const starts: number[] = [];
  for (let job = 0; job < jobs.n; job++) {
    // A job without an end and a job that was never begun look alike until its first turn is in the log.
    if (jobs.outcomeOf(job) !== "not_started" && !Number.isNaN(jobs.start[job]))
      starts.push(jobs.start[job] as number);
  }
  if (starts.length < 2 * slots) return null;
  starts.sort((a, b) => a - b);
  const begin = starts[slots - 1] as number;
  const lastStart = starts[starts.length - 1] as number;
  let end = Infinity;
  for (let job = 0; job < jobs.n; job++) {
    const ended = jobs.end[job] as number;
    if (JOB_STATUS[jobs.status[job] as number] !== "unfinished" && ended > lastStart && ended < end)
      end = ended;
  }
  if (end === Infinity && cutAt !== null && jobs.status.includes(JOB_STATUS.indexOf("unfinished")))
    end = cutAt;
  // A failed job whose other branch was cut seems to end after the cut.
  if (cutAt !== null) end = Math.min(end, cutAt);
  if (!(end > begin) || end === Infinity) return null;
  let credited = 0;
  for (let job = 0; job < jobs.n; job++) {
    const ended = jobs.end[job] as number;
    if (JOB_STATUS[jobs.status[job] as number] === "ok" && ended >= begin && ended <= end) credited++;
  }
  return {
    start_ms: begin,
    end_ms: end,
    jobs: credited,
    jobs_per_hour: (credited * 3_600_000) / (end - begin),
  };
}
