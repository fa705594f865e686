/**
 * Entries: the units that arrivals and `--max-requests` count in. In COMPAT A an entry of the trace is all queries that
 * start together (its reader names it in `metadata.entry`); everywhere else an entry is one request.
 */
import type { Ms } from "../core/units.ts";
import type { Workload } from "./workload.ts";

export interface Entry {
  /** `null` where the trace does not tell. */
  readonly offset_ms: Ms | null;
  /** [job, turn] positions in the workload. */
  readonly members: readonly (readonly [number, number])[];
}

/** Entries in the order of the workload; `sortEntries` puts them in time order. */
export function entriesOf(jobs: Workload): Entry[] {
  const entries: { offset_ms: Ms | null; members: [number, number][] }[] = [];
  const named = new Map<string, number>();
  jobs.forEach((job, j) => {
    job.turns.forEach((turn, t) => {
      const name = turn.request.metadata?.["entry"];
      const key =
        typeof name === "string" || typeof name === "number" ? `entry ${name} copy ${job.copy}` : null;
      const known = key === null ? undefined : named.get(key);
      if (known !== undefined) entries[known]?.members.push([j, t]);
      else {
        if (key !== null) named.set(key, entries.length);
        entries.push({ offset_ms: turn.offset_ms, members: [[j, t]] });
      }
    });
  });
  return entries;
}

/** By time, then as in the workload; entries without a time last. */
export function sortEntries(entries: readonly Entry[]): Entry[] {
  return entries.toSorted((a, b) => compareTimes(a.offset_ms, b.offset_ms));
}

function compareTimes(a: Ms | null, b: Ms | null): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  return a - b;
}
