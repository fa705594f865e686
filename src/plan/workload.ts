/**
 * A trace on its way to a plan, as columns over its requests: transforms take one workload and give the next, with what they
 * did in words. A million turns are a few typed arrays; NaN = the trace does not tell.
 */
import type { Ms, PerSecond, Tokens } from "../core/units.ts";
import type { JobTable } from "../trace/job-table.ts";
import type { TraceTable } from "../trace/trace-table.ts";

export interface Workload {
  readonly requests: TraceTable;
  /** Turns of job j are first[j]…first[j + 1] − 1, parents before children. */
  readonly first: Int32Array;

  // One entry a turn.
  readonly row: Int32Array;
  /** Positions in the job; turns may share a list. */
  readonly parents: readonly (readonly number[])[];
  readonly think_ms: Float64Array;
  /** Arrival as an offset from the workload's first. */
  readonly offset_ms: Float64Array;

  // One entry a job.
  /** Number of the job's id in `requests.jobs`. */
  readonly job: Int32Array;
  readonly budget_ms: Float64Array;
  /** 0 for the original. Copies stand behind all originals, round by round. */
  readonly copy: Int32Array;
  /** Which job of the workload, before it was copied, this is (or is a copy of). */
  readonly origin: Int32Array;
  /** Closed runs: start this much after the job's slot came free. */
  readonly start_delay_ms: Float64Array;

  /** Lengths that replace those of every request; `null` = as in the trace. */
  readonly input_tokens: Tokens | null;
  readonly output_tokens: Tokens | null;
}

export interface Transformed {
  readonly jobs: Workload;
  /** One line each, for the person who runs it. */
  readonly notes: readonly string[];
}

/** Offsets are the arrivals as recorded; `shiftToZero` makes the first 0. */
export function workloadOf({ columns, think_ms, length }: JobTable): Workload {
  const { requests, first, row, parents, job, budget_ms } = columns;
  return {
    requests,
    first,
    row,
    parents,
    think_ms,
    offset_ms: requests.arrivals(row),
    job,
    budget_ms,
    copy: new Int32Array(length),
    origin: Int32Array.from(job, (_, j) => j),
    start_delay_ms: new Float64Array(length),
    input_tokens: null,
    output_tokens: null,
  };
}

export function countJobs(work: Workload): number {
  return work.job.length;
}

export function countTurns(work: Workload): number {
  return work.row.length;
}

/** When the job begins: the earliest of its roots' offsets, else of all its turns'; NaN if none is known. */
export function jobStart({ first, offset_ms, parents }: Workload, job: number): Ms {
  let roots = NaN;
  let any = NaN;
  for (let turn = first[job] as number; turn < (first[job + 1] as number); turn++) {
    const offset = offset_ms[turn] as number;
    if (Number.isNaN(offset)) continue;
    if (!(any <= offset)) any = offset;
    if (parents[turn]?.length === 0 && !(roots <= offset)) roots = offset;
  }
  return Number.isNaN(roots) ? any : roots;
}

/** {@link jobStart} of every job. */
export function jobStarts(work: Workload): Float64Array {
  const starts = new Float64Array(countJobs(work));
  for (let job = 0; job < starts.length; job++) starts[job] = jobStart(work, job);
  return starts;
}

/** A workload whose offsets have passed through `map` (turns without an offset are left alone). */
export function mapOffsets(work: Workload, map: (offset: Ms) => Ms): Workload {
  const { offset_ms } = work;
  const mapped = new Float64Array(offset_ms.length);
  for (let turn = 0; turn < mapped.length; turn++) {
    const offset = offset_ms[turn] as number;
    mapped[turn] = Number.isNaN(offset) ? NaN : map(offset);
  }
  return { ...work, offset_ms: mapped };
}

/** The workload with only those turns for which `kept` is 1; jobs without any are left out. */
export function keepTurns(work: Workload, kept: Uint8Array): Workload {
  const jobs: number[] = [];
  const first: number[] = [0];
  const turns: number[] = [];
  const parents: (readonly number[])[] = [];
  const place = new Int32Array(kept.length);
  for (let job = 0; job < countJobs(work); job++) {
    const [from, to] = [work.first[job] as number, work.first[job + 1] as number];
    const begin = turns.length;
    // Turns that share a list share what becomes of it.
    const moved = new Map<readonly number[], readonly number[]>();
    for (let turn = from; turn < to; turn++) {
      if (kept[turn] === 0) continue;
      place[turn] = turns.length - begin;
      turns.push(turn);
      const own = work.parents[turn] as readonly number[];
      let list = moved.get(own);
      if (list === undefined) {
        list = own
          .filter((parent) => kept[from + parent] === 1)
          .map((parent) => place[from + parent] as number);
        moved.set(own, list);
      }
      parents.push(list);
    }
    if (turns.length === begin) continue;
    jobs.push(job);
    first.push(turns.length);
  }
  const ofTurns = <A extends Float64Array | Int32Array>(column: A): A => pick(column, turns);
  const ofJobs = <A extends Float64Array | Int32Array>(column: A): A => pick(column, jobs);
  return {
    ...work,
    first: Int32Array.from(first),
    row: ofTurns(work.row),
    parents,
    think_ms: ofTurns(work.think_ms),
    offset_ms: ofTurns(work.offset_ms),
    job: ofJobs(work.job),
    budget_ms: ofJobs(work.budget_ms),
    copy: ofJobs(work.copy),
    origin: ofJobs(work.origin),
    start_delay_ms: ofJobs(work.start_delay_ms),
  };
}

function pick<A extends Float64Array | Int32Array>(column: A, positions: readonly number[]): A {
  const picked = new (column.constructor as new (length: number) => A)(positions.length);
  for (let i = 0; i < positions.length; i++) picked[i] = column[positions[i] as number] as number;
  return picked;
}

/** Earliest and latest offset; `null` where no turn has one. */
export function offsetRange({ offset_ms }: Workload): { first: Ms; last: Ms; known: number } | null {
  let first = Infinity;
  let last = -Infinity;
  let known = 0;
  for (let turn = 0; turn < offset_ms.length; turn++) {
    const offset = offset_ms[turn] as number;
    if (Number.isNaN(offset)) continue;
    known++;
    if (offset < first) first = offset;
    if (offset > last) last = offset;
  }
  return known === 0 ? null : { first, last, known };
}

/** The gap of (N−1) even steps at a rate, ms: the span that N arrivals take. */
export function spanAtRate(n: number, rate: PerSecond): Ms {
  return (Math.max(n - 1, 0) / rate) * 1000;
}
