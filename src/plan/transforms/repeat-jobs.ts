import type { Ms } from "../../core/units.ts";
import { countJobs, countTurns, type Transformed, type Workload } from "../workload.ts";
import { copyJobs } from "./copy-jobs.ts";

/** A plan is held in memory: no more turns than this are made ahead. */
const MAX_TURNS = 200_000;
/** No job is over sooner: its first turn fails at once. */
const SHORTEST_JOB_MS = 5;

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
 * How many copies of the jobs keep `slots` of them under way for `duration`, whatever the server does with them: a job of which a
 * turn fails ends long before its think times say. At most what {@link MAX_TURNS} allows.
 */
export function copiesFor(work: Workload, slots: number, duration: Ms): number {
  const jobs = countJobs(work);
  const wanted = Math.ceil((duration * slots) / (SHORTEST_JOB_MS * jobs)) + Math.ceil(slots / jobs);
  return Math.max(1, Math.min(wanted, Math.floor(MAX_TURNS / countTurns(work))));
}
