import type { Ms } from "../../core/units.ts";
import { countTurns, type Transformed, type WorkJob, type Workload } from "../workload.ts";
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
export function repeatJobs(jobs: Workload, slots: number, duration: Ms, shared: boolean): Transformed {
  const copies = copiesFor(jobs, slots, duration);
  if (copies === 1) return { jobs, notes: [] };
  const sharing = shared ? "that share their text" : "that share no text";
  return {
    jobs: copyJobs(jobs, copies, shared).jobs,
    notes: [`${jobs.length} jobs, again and again until the duration is over, as copies ${sharing}`],
  };
}

/**
 * How many copies of the jobs keep `slots` of them under way for `duration`, whatever the server: as many as the fastest
 * one could do, and at most what {@link MAX_TURNS} allows. Think times must be as they will be waited for.
 */
export function copiesFor(jobs: Workload, slots: number, duration: Ms): number {
  let round = 0;
  for (const job of jobs) round += shortest(job);
  const wanted = Math.ceil((duration * slots) / Math.max(round, 1e-3)) + Math.ceil(slots / jobs.length);
  return Math.max(1, Math.min(wanted, Math.floor(MAX_TURNS / countTurns(jobs))));
}

/** The job's critical path on a server that nothing outruns. */
function shortest(job: WorkJob): Ms {
  const ends = new Float64Array(job.turns.length);
  let latest = 0;
  job.turns.forEach(({ parents, think_ms, request }, t) => {
    let start = 0;
    // Parents stand before their children.
    for (const parent of parents) start = Math.max(start, ends[parent] as Ms);
    if (parents.length > 0) start += think_ms ?? 0;
    const output = request.recorded?.output_tokens ?? request.expected_output_tokens ?? 1;
    ends[t] = start + FASTEST_TURN_MS + FASTEST_TOKEN_MS * output;
    latest = Math.max(latest, ends[t] as Ms);
  });
  return latest;
}
