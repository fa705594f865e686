/**
 * Jobs as DAGs of turns: which turns a turn waits for, and how long it thinks after the last of them (FORMATS, "Ours";
 * METRICS, "Settled readings").
 */
import { groupBy } from "../core/column.ts";
import { UserError } from "../core/failure.ts";
import type { List } from "../core/list.ts";
import { stableOrder } from "../core/stable-order.ts";
import { plainText } from "../core/terminal-text.ts";
import { JobTable } from "./job-table.ts";
import { linkParents, type Member } from "./parents.ts";
import type { TraceRequest } from "./trace-request.ts";
import { FIELD, TraceTable } from "./trace-table.ts";

/**
 * Groups requests into jobs, ordered by their first arrival (then by first appearance), and resolves each turn's
 * parents and think time. Duplicate ids, unknown parents, cycles, a turn before its parent and a budget of zero are a
 * {@link UserError} that names the request.
 */
export function resolveJobs(requests: List<TraceRequest>): JobTable {
  const table = TraceTable.of(requests);
  const twice = table.ids.firstRepeated();
  if (twice !== null) throw new UserError(`request_id "${plainText(twice)}" occurs twice`);
  const { order: rows, starts } = groupBy(table.jobColumn(), table.jobs.size);
  return new Resolver(table, rows).resolve(jobsInOrder(table, rows, starts), starts);
}

/** Jobs that have rows, by first arrival, then by first row. */
function jobsInOrder(table: TraceTable, rows: Int32Array, starts: Int32Array): Int32Array {
  const jobs: number[] = [];
  for (let job = 0; job < table.jobs.size; job++)
    if ((starts[job] as number) < (starts[job + 1] as number)) jobs.push(job);
  jobs.sort((a, b) => (rows[starts[a] as number] as number) - (rows[starts[b] as number] as number));
  const first = new Float64Array(jobs.length).fill(Infinity);
  for (const [position, job] of jobs.entries()) {
    for (let at = starts[job] as number; at < (starts[job + 1] as number); at++) {
      const arrival = table.number(FIELD.arrival_ms, rows[at] as number);
      if (arrival < (first[position] as number)) first[position] = arrival;
    }
  }
  return Int32Array.from(stableOrder(first), (position) => jobs[position] as number);
}

/** The requests of each job, in the order of the file. */
export function groupByJob(requests: List<TraceRequest>): Map<string, TraceRequest[]> {
  const jobs = new Map<string, TraceRequest[]>();
  // Rows of a job mostly stand together.
  let job: string | null = null;
  let members: TraceRequest[] = [];
  for (const request of requests) {
    if (request.job_id !== job) {
      job = request.job_id;
      const known = jobs.get(job);
      members = known ?? [];
      if (known === undefined) jobs.set(job, members);
    }
    members.push(request);
  }
  return jobs;
}

const ZERO_BUDGET = "a budget must be more than 0 ms";

const ROOT: readonly number[] = [];
/** `[0]`, `[1]`, ...: the parents of a chain's turns, shared by all chains. */
const PREVIOUS: (readonly number[])[] = [];

/** Fills the columns of a {@link JobTable}, job by job. */
class Resolver {
  readonly #table: TraceTable;
  /** Rows by job, each job's in the order of the file. */
  readonly #rows: Int32Array;
  readonly #row: Int32Array;
  readonly #parents: (readonly number[])[] = [];
  readonly #parentEnd: Float64Array;
  /** Of a row in its job, as the file has them. */
  readonly #position: Int32Array;
  #turn = 0;

  constructor(table: TraceTable, rows: Int32Array) {
    this.#table = table;
    this.#rows = rows;
    this.#row = new Int32Array(rows.length);
    this.#parentEnd = new Float64Array(rows.length);
    this.#position = new Int32Array(rows.length);
  }

  resolve(jobs: Int32Array, starts: Int32Array): JobTable {
    const first = new Int32Array(jobs.length + 1);
    const budget_ms = new Float64Array(jobs.length);
    for (let position = 0; position < jobs.length; position++) {
      const job = jobs[position] as number;
      const from = starts[job] as number;
      const to = starts[job + 1] as number;
      if (this.#isChain(from, to)) this.#resolveChain(from, to);
      else if (this.#isOrdered(from, to)) this.#resolveOrdered(from, to);
      else this.#resolveGraph(from, to);
      first[position + 1] = this.#turn;
      budget_ms[position] = this.#budget(first[position] as number, this.#turn);
    }
    const [row, parents, parent_end_ms] = [this.#row, this.#parents, this.#parentEnd];
    const table = new JobTable({
      requests: this.#table,
      job: jobs,
      first,
      row,
      parents,
      parent_end_ms,
      budget_ms,
    });
    const negative = table.think_ms.findIndex((think) => think < 0);
    if (negative !== -1) throw jobError(table.request(negative), "think_ms must be ≥ 0");
    return table;
  }

  /**
   * Rows that stand in the file as they follow each other: no explicit parents, turns that rise (or all 0), arrivals that
   * never fall. Nearly every job of a large trace is one, and needs none of the graph's tables.
   */
  #isChain(from: number, to: number): boolean {
    const table = this.#table;
    let turn = -1;
    let rising = true;
    let zero = true;
    let arrival = -Infinity;
    for (let at = from; at < to; at++) {
      const row = this.#rows[at] as number;
      if (table.namesParents(row)) return false;
      const told = table.number(FIELD.turn, row);
      const own = Number.isNaN(told) ? 0 : told;
      if (own <= turn) rising = false;
      if (own !== 0) zero = false;
      turn = own;
      const arrived = table.number(FIELD.arrival_ms, row);
      if (Number.isNaN(arrived)) continue;
      if (arrived < arrival) return false;
      arrival = arrived;
    }
    return rising || zero;
  }

  #resolveChain(from: number, to: number): void {
    let end = NaN;
    for (let at = from; at < to; at++) {
      const row = this.#rows[at] as number;
      this.#add(row, at === from ? ROOT : (PREVIOUS[at - from - 1] ??= [at - from - 1]), end);
      end = this.#table.number(FIELD.end_ms, row);
    }
  }

  /**
   * Rows that all name their parents, earlier rows of their job, and arrive one after the other: they stand in the file as they
   * are to be ordered. So do converted and generated traces of agents with sub-agents.
   */
  #isOrdered(from: number, to: number): boolean {
    const table = this.#table;
    const job = table.jobOf(this.#rows[from] as number);
    let arrival = -Infinity;
    for (let at = from; at < to; at++) {
      const row = this.#rows[at] as number;
      const parents = table.parentRows(row);
      const arrived = table.number(FIELD.arrival_ms, row);
      if (parents === null || !(arrived > arrival)) return false;
      arrival = arrived;
      const turn = table.number(FIELD.turn, row);
      // A parent of columns stands before its child; it arrived before it if it is of the same job.
      for (const parent of parents)
        if (table.jobOf(parent) !== job || table.number(FIELD.turn, parent) > turn) return false;
      this.#position[row] = at - from;
    }
    return true;
  }

  #resolveOrdered(from: number, to: number): void {
    for (let at = from; at < to; at++) {
      const row = this.#rows[at] as number;
      const rows = this.#table.parentRows(row) as Int32Array;
      const first = this.#position[rows[0] as number] as number;
      const parents =
        rows.length === 0
          ? ROOT
          : rows.length === 1
            ? (PREVIOUS[first] ??= [first])
            : [...new Set(rows)].map((parent) => this.#position[parent] as number).sort((a, b) => a - b);
      this.#add(
        row,
        parents,
        lastEnd(rows, (parent) => this.#table.number(FIELD.end_ms, parent)),
      );
    }
  }

  #resolveGraph(from: number, to: number): void {
    const table = this.#table;
    const rows = this.#rows.subarray(from, to);
    const members: Member[] = [];
    for (const row of rows) members.push(table.member(row));
    const { parents, order, faults } = linkParents(members);
    const fault = faults[0];
    if (fault !== undefined || order === null) {
      const row = rows[fault?.position ?? 0] as number;
      throw jobError(table.at(row) as TraceRequest, fault?.reason ?? "cannot be ordered");
    }
    const positions = new Int32Array(members.length);
    order.forEach((member, position) => {
      positions[member] = position;
    });
    // Turns that share a parent list (equal turns) share its translation and the end of its last parent.
    const lists = new Map<readonly number[], { positions: readonly number[]; end: number }>();
    for (const member of order) {
      const own = parents[member] as readonly number[];
      let list = lists.get(own);
      if (list === undefined) {
        list = {
          positions: own.map((parent) => positions[parent] as number).sort((a, b) => a - b),
          end: lastEnd(own, (parent) => table.number(FIELD.end_ms, rows[parent] as number)),
        };
        lists.set(own, list);
      }
      this.#add(rows[member] as number, list.positions, list.end);
    }
  }

  #add(row: number, parents: readonly number[], end: number): void {
    this.#row[this.#turn] = row;
    this.#parents.push(parents);
    this.#parentEnd[this.#turn] = end;
    this.#turn++;
  }

  /** The first that a turn tells; NaN without one. */
  #budget(from: number, to: number): number {
    let found = NaN;
    for (let turn = from; turn < to; turn++) {
      const row = this.#row[turn] as number;
      const budget = this.#table.number(FIELD.budget_ms, row);
      if (budget <= 0) throw jobError(this.#table.at(row) as TraceRequest, ZERO_BUDGET);
      if (Number.isNaN(found)) found = budget;
    }
    return found;
  }
}

/** Recorded end of the last parent; NaN for a root, or where the end of one of them is not told. */
function lastEnd(parents: ArrayLike<number>, endOf: (parent: number) => number): number {
  let last = NaN;
  for (let i = 0; i < parents.length; i++) {
    const end = endOf(parents[i] as number);
    if (Number.isNaN(end)) return NaN;
    if (!(end <= last)) last = end;
  }
  return last;
}

function jobError(request: TraceRequest, reason: string): UserError {
  return new UserError(
    `request "${plainText(request.request_id)}" of job "${plainText(request.job_id)}": ${plainText(reason)}`,
    { hint: "mend the trace, or leave this job out of it" },
  );
}
