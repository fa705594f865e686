import type { Ms } from "../../core/units.ts";
import { entriesByTime, entriesOf, orderByTime } from "../entries.ts";
import {
  countJobs,
  countTurns,
  jobStart,
  jobStarts,
  keepTurns,
  type Transformed,
  type Workload,
} from "../workload.ts";

/** `--max-jobs`: the first N jobs by start (as in the trace where starts are unknown). */
export function limitJobs(work: Workload, max: number | null): Transformed {
  const jobs = countJobs(work);
  if (max === null || jobs <= max) return { jobs: work, notes: [] };
  const kept = new Uint8Array(countTurns(work));
  for (const job of orderByTime(jobStarts(work)).subarray(0, max))
    kept.fill(1, work.first[job], work.first[job + 1]);
  return { jobs: keepTurns(work, kept), notes: [`first ${max} of ${jobs} jobs`] };
}

/**
 * `--max-requests`: the first N entries by time (COMPAT A: after the arrival step). A turn without a time of its own
 * counts as late as its parents, so that what is kept always holds its parents.
 */
export function limitRequests(work: Workload, max: number | null): Transformed {
  if (max === null) return { jobs: work, notes: [] };
  const entries = entriesOf(work, effectiveTimes(work));
  if (entries.count <= max) return { jobs: work, notes: [] };
  const keptEntries = new Uint8Array(entries.count);
  for (const entry of entriesByTime(entries).subarray(0, max)) keptEntries[entry] = 1;
  const kept = Uint8Array.from(entries.of, (entry) => keptEntries[entry] as number);
  return { jobs: keepTurns(work, kept), notes: [`first ${max} of ${entries.count} entries`] };
}

/** Never before a parent's; NaN where nothing is known. */
function effectiveTimes(work: Workload): Float64Array {
  const times = new Float64Array(countTurns(work));
  for (let job = 0; job < countJobs(work); job++) {
    const start = jobStart(work, job);
    const from = work.first[job] as number;
    for (let turn = from; turn < (work.first[job + 1] as number); turn++) {
      const own = work.offset_ms[turn] as Ms;
      let time = Number.isNaN(own) ? start : own;
      for (const parent of work.parents[turn] as readonly number[]) {
        const earlier = times[from + parent] as Ms;
        // What is not known counts as last.
        if (!(earlier <= time)) time = earlier;
      }
      times[turn] = time;
    }
  }
  return times;
}
