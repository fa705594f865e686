import type { Ms } from "../../core/units.ts";
import { countJobs, countTurns, type Transformed, type Workload } from "../workload.ts";
import { copyJobs } from "./copy-jobs.ts";

/** A plan is held in memory: no more turns than this are made ahead. */
const MAX_TURNS = 200_000;
/** No server is quicker than this with a turn, nor with a token of it. */
const FASTEST_TURN_MS = 5;
const FASTEST_TOKEN_MS = 1;

/**
 * Closed runs with a duration: all jobs again and again, as copies of their own, so that `slots` of them are under way until
 * the time is over.
 */
export function repeatJobs(work: Workload, slots: number, duration: Ms, shared: boolean): Transformed {
  const copies = copiesFor(work, slots, duration);
  if (copies === 1) return { jobs: work, notes: [] };
  const sharing = shared ? "that share their text" : "that share no text";
  return {
    jobs: copyJobs(work, copies, shared).jobs,
    notes: [`${countJobs(work)} jobs, again and again until the duration is over, as copies ${sharing}`],
  };
}

/**
 * How many copies of the jobs keep `slots` of them under way for `duration`, whatever the server: as many as the fastest
 * one could do, and at most what {@link MAX_TURNS} allows. Think times must be as they will be waited for.
 */
export function copiesFor(work: Workload, slots: number, duration: Ms): number {
  let round = 0;
  for (let job = 0; job < countJobs(work); job++) round += shortest(work, job);
  const wanted = Math.ceil((duration * slots) / Math.max(round, 1e-3)) + Math.ceil(slots / countJobs(work));
  return Math.max(1, Math.min(wanted, Math.floor(MAX_TURNS / countTurns(work))));
}

/** The job's critical path on a server that nothing outruns. */
function shortest(work: Workload, job: number): Ms {
  const { first, parents, think_ms } = work;
  const from = first[job] as number;
  const ends = new Float64Array((first[job + 1] as number) - from);
  let latest = 0;
  for (let t = 0; t < ends.length; t++) {
    const own = parents[from + t] as readonly number[];
    let start = 0;
    // Parents stand before their children.
    for (const parent of own) start = Math.max(start, ends[parent] as Ms);
    const think = think_ms[from + t] as Ms;
    if (own.length > 0 && !Number.isNaN(think)) start += think;
    const output = work.output_tokens ?? work.requests.plannedOutputTokens(work.row[from + t] as number);
    ends[t] = start + FASTEST_TURN_MS + FASTEST_TOKEN_MS * (Number.isNaN(output) ? 1 : output);
    latest = Math.max(latest, ends[t] as Ms);
  }
  return latest;
}
