/** One job, seen over the columns of its requests. */
import type { Ms } from "../../core/units.ts";
import type { RequestTable } from "../request-table.ts";

export type JobStatus = "ok" | "failed" | "unfinished";

export interface JobView {
  readonly table: RequestTable;
  /** Rows of its requests, in the order of the log. */
  readonly rows: Int32Array;
  /** Intended time of its first turn; NaN where nothing tells. */
  readonly start_ms: Ms;
  /** End of the turn that ended last; NaN without one. */
  readonly end_ms: Ms;
  /** Row of the turn that was due first; −1 without requests. Of several, the first to answer. */
  readonly firstRow: number;
  /** Row of the turn that ended last; −1 without one. */
  readonly lastRow: number;
}

/** A number of one job; over ok jobs these make a distribution. File name = id = key in `summary.json`. */
export interface JobMetric {
  readonly id: string;
  readonly unit: "ms" | "tokens" | "turns";
  readonly title: string;
  readonly span: string;
  /** NaN where it was not measured. */
  value(job: JobView): number;
}

/** Builds the view; `plannedStart` counts where no record tells. */
export function viewJob(table: RequestTable, rows: Int32Array, plannedStart: Ms): JobView {
  const { intended, end, first_token } = table.columns;
  let start = NaN;
  let last = NaN;
  let firstRow = -1;
  let lastRow = -1;
  for (const row of rows) {
    const due = intended[row] as number;
    const sooner = due === start && answersSooner(first_token[row], first_token[firstRow]);
    if (due < start || sooner || (Number.isNaN(start) && !Number.isNaN(due))) {
      start = due;
      firstRow = row;
    }
    const ended = end[row] as number;
    if (ended > last || (Number.isNaN(last) && !Number.isNaN(ended))) {
      last = ended;
      lastRow = row;
    }
  }
  return {
    table,
    rows,
    start_ms: Number.isNaN(start) ? plannedStart : start,
    end_ms: last,
    firstRow,
    lastRow,
  };
}

/** An answer without a token (NaN) is none. */
function answersSooner(first_token = NaN, than = NaN): boolean {
  return first_token < than || (Number.isNaN(than) && !Number.isNaN(first_token));
}

/** Σ of a column over the job's turns; NaN where one turn does not tell: a part of a sum is no sum. */
export function sumOver({ rows }: JobView, column: Float64Array): number {
  let sum = 0;
  for (const row of rows) sum += column[row] as number;
  return sum;
}
