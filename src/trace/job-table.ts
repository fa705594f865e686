/** Resolved jobs as columns over the rows of a {@link TraceTable}: a list that makes its jobs when asked. */
import { MadeList, type List } from "../core/list.ts";
import type { Ms } from "../core/units.ts";
import type { TraceRequest } from "./trace-request.ts";
import { FIELD, TraceTable } from "./trace-table.ts";

/** `recorded`: the source told `think_ms`. `inferred`: arrival − recorded end of the last parent. */
export type ThinkOrigin = "recorded" | "inferred" | "missing";

export interface ResolvedTurn {
  readonly request: TraceRequest;
  /** Positions in the job's turns, ascending, all smaller than this turn's own; empty for a root. */
  readonly parents: readonly number[];
  /** Think and tool time after the end of the last parent, ≥ 0. `null` = unknown, or a root that tells none. */
  readonly think_ms: Ms | null;
  readonly think_origin: ThinkOrigin;
  /** Arrival − recorded end of the last parent, as recorded: negative where the turn did not wait. */
  readonly gap_ms: Ms | null;
}

export interface ResolvedJob {
  readonly job_id: string;
  /** Parents first, by time where times are told. */
  readonly turns: readonly ResolvedTurn[];
  readonly budget_ms: Ms | null;
}

export interface JobColumns {
  readonly requests: TraceTable;
  /** Number of each job's id in `requests.jobs`. */
  readonly job: Int32Array;
  /** First turn of each job; then the number of turns in all. */
  readonly first: Int32Array;
  /** Row of each turn in `requests`. */
  readonly row: Int32Array;
  /** {@link ResolvedTurn.parents}; turns may share a list. */
  readonly parents: readonly (readonly number[])[];
  /** Recorded end of the last parent; NaN = not known, or a root. */
  readonly parent_end_ms: Float64Array;
  /** NaN = none. */
  readonly budget_ms: Float64Array;
}

export class JobTable extends MadeList<ResolvedJob> {
  readonly columns: JobColumns;
  /** {@link ResolvedTurn.think_ms} of each turn; NaN = unknown. */
  readonly think_ms: Float64Array;

  constructor(columns: JobColumns) {
    super();
    this.columns = columns;
    const { requests, row, parent_end_ms } = columns;
    this.think_ms = new Float64Array(row.length);
    for (let turn = 0; turn < row.length; turn++) {
      const at = row[turn] as number;
      const told = requests.number(FIELD.think_ms, at);
      this.think_ms[turn] = Number.isNaN(told)
        ? Math.max(0, requests.number(FIELD.arrival_ms, at) - (parent_end_ms[turn] as number))
        : told;
    }
  }

  /** The table of these jobs: the list itself where it is one. Jobs without turns are left out. */
  static of(jobs: List<ResolvedJob>): JobTable {
    if (jobs instanceof JobTable) return jobs;
    const held = jobs.filter(({ turns }) => turns.length > 0);
    const turns = held.flatMap((job) => job.turns);
    const requests = TraceTable.of(turns.map(({ request }) => request));
    const first = new Int32Array(held.length + 1);
    for (const [j, job] of held.entries()) first[j + 1] = (first[j] as number) + job.turns.length;
    const table = new JobTable({
      requests,
      job: Int32Array.from(held, ({ job_id }) => requests.jobs.internText(job_id)),
      first,
      row: Int32Array.from(turns, (_, row) => row),
      parents: turns.map(({ parents }) => parents),
      parent_end_ms: Float64Array.from(turns, ({ request, gap_ms }) =>
        gap_ms === null || request.arrival_ms === null ? NaN : request.arrival_ms - gap_ms,
      ),
      budget_ms: Float64Array.from(held, ({ budget_ms }) => budget_ms ?? NaN),
    });
    // As they were resolved, whatever the requests tell.
    for (const [turn, { think_ms }] of turns.entries()) table.think_ms[turn] = think_ms ?? NaN;
    return table;
  }

  get length(): number {
    return this.columns.job.length;
  }

  /** Turns of all jobs. */
  get turns(): number {
    return this.columns.row.length;
  }

  /** Turns of each job. */
  turnCounts(): number[] {
    const { first } = this.columns;
    return Array.from(this.columns.job, (_, job) => (first[job + 1] as number) - (first[job] as number));
  }

  request(turn: number): TraceRequest {
    return this.columns.requests.at(this.columns.row[turn] as number) as TraceRequest;
  }

  job_id(job: number): string {
    return this.columns.requests.jobs.text(this.columns.job[job] as number);
  }

  protected make(job: number): ResolvedJob {
    const { first, budget_ms } = this.columns;
    const turns: ResolvedTurn[] = [];
    for (let turn = first[job] as number; turn < (first[job + 1] as number); turn++)
      turns.push(this.#turn(turn));
    return { job_id: this.job_id(job), turns, budget_ms: orNull(budget_ms[job] as number) };
  }

  #turn(turn: number): ResolvedTurn {
    const request = this.request(turn);
    const end = this.columns.parent_end_ms[turn] as number;
    const gap_ms = request.arrival_ms === null ? null : orNull(request.arrival_ms - end);
    return {
      request,
      parents: this.columns.parents[turn] as readonly number[],
      think_ms: orNull(this.think_ms[turn] as number),
      think_origin: request.think_ms !== null ? "recorded" : gap_ms !== null ? "inferred" : "missing",
      gap_ms,
    };
  }
}

function orNull(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}
