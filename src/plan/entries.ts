/**
 * Entries: the units that arrivals and `--max-requests` count in. In COMPAT A an entry of the trace is all queries that
 * start together (its reader names it in `metadata.entry`); everywhere else an entry is one request.
 */
import { stableOrder } from "../core/stable-order.ts";
import type { Ms } from "../core/units.ts";
import { countJobs, countTurns, jobStarts, type Workload } from "./workload.ts";

/** What arrives as one, in the order of the workload. */
export interface Entries {
  readonly count: number;
  /** NaN where the trace does not tell. */
  readonly offset_ms: Float64Array;
  /** Entry of each turn. */
  readonly of: Int32Array;
}

/** By request, or by the entries that the trace names. `offset_ms`: of each turn. */
export function entriesOf(work: Workload, offset_ms: Float64Array = work.offset_ms): Entries {
  const of = new Int32Array(countTurns(work));
  const offsets: number[] = [];
  const named = new Map<string, number>();
  for (let job = 0; job < countJobs(work); job++) {
    for (let turn = work.first[job] as number; turn < (work.first[job + 1] as number); turn++) {
      const name = work.requests.whole(work.row[turn] as number)?.metadata?.["entry"];
      const key =
        typeof name === "string" || typeof name === "number"
          ? `entry ${name} copy ${work.copy[job] as number}`
          : null;
      const known = key === null ? undefined : named.get(key);
      of[turn] = known ?? offsets.length;
      if (known !== undefined) continue;
      if (key !== null) named.set(key, offsets.length);
      offsets.push(offset_ms[turn] as Ms);
    }
  }
  return { count: offsets.length, offset_ms: Float64Array.from(offsets), of };
}

/** A whole job is one entry. */
export function jobEntries(work: Workload): Entries {
  const of = new Int32Array(countTurns(work));
  for (let job = 0; job < countJobs(work); job++) of.fill(job, work.first[job], work.first[job + 1]);
  return { count: countJobs(work), offset_ms: jobStarts(work), of };
}

/** By time, then as in the workload; entries without a time last. */
export function entriesByTime({ offset_ms }: Entries): Uint32Array {
  return orderByTime(offset_ms);
}

/** Positions by time, equal ones as they stand, NaN last. */
export function orderByTime(times: Float64Array): Uint32Array {
  return stableOrder(times.map((time) => (Number.isNaN(time) ? Infinity : time)));
}
