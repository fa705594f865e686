/** Our own format: one request a line, an optional first line `{"reprise_trace": 1, ...}` (FORMATS, "Ours"). */
import { IndexColumn, NumberColumn } from "../../core/column.ts";
import type { JsonObject } from "../../core/json.ts";
import { lineText, readLineBlocks } from "../../core/lines.ts";
import type { List } from "../../core/list.ts";
import type { ReadOptions, Sample, TraceFormat } from "../format.ts";
import { linkParents } from "../parents.ts";
import { newTrace } from "../new-trace.ts";
import { BadRow, RowAccount } from "../row-account.ts";
import { readRow } from "../row-reader.ts";
import { mostRowsHave, objectRows } from "../sample.ts";
import { PROPERTIES, type Origin, type Property, type Provenance, type Trace } from "../trace.ts";
import type { TraceRequest } from "../trace-request.ts";
import { type Field, FIELD, TraceTable } from "../trace-table.ts";
import { parseLine, parseRequestRow } from "./reprise-row.ts";
import { RowScanner } from "./reprise-scan.ts";

/** Version of the format; a file that says a higher one is refused. */
export const TRACE_VERSION = 1;

export const reprise: TraceFormat = {
  name: "reprise",
  title: "Reprise's own JSONL: request_id, job_id, arrival_ms, prompt or prompt_tokens, max_tokens",
  marks: ["request_id", "job_id", "arrival_ms", "max_tokens"],
  detect(sample: Sample): number {
    const first = objectRows(sample)[0];
    if (first !== undefined && "reprise_trace" in first) return 1;
    return mostRowsHave(sample, "request_id", "job_id") &&
      (mostRowsHave(sample, "arrival_ms") || mostRowsHave(sample, "max_tokens"))
      ? 0.95
      : 0;
  },
  read: readReprise,
};

async function readReprise(path: string, options: ReadOptions): Promise<Trace> {
  const account = new RowAccount(path, options);
  const table = new TraceTable();
  const scanner = new RowScanner(table);
  const order = new JobOrder(table);
  const lines = new IndexColumn();
  let header: JsonObject | null = null;
  let first = true;
  const onRow = (row: JsonObject, line: number): string | undefined => {
    const isFirst = first;
    first = false;
    if (isFirst && row["reprise_trace"] !== undefined) {
      checkVersion(row["reprise_trace"]);
      header = row;
      return "header";
    }
    const request = parseRequestRow(row);
    const known = table.ids.size;
    if (table.ids.internText(request.request_id) !== known)
      throw new BadRow(`request_id "${request.request_id}" occurred before`);
    table.addWhole(request);
    order.add(known);
    lines.push(line);
    return undefined;
  };
  let number = 0;
  for await (const block of readLineBlocks(path)) {
    let start = 0;
    for (let end = block.indexOf(LF); end !== -1; end = block.indexOf(LF, start)) {
      number++;
      if (scanner.scan(block, start)) {
        first = false;
        account.use();
        order.add(table.length - 1);
        lines.push(number);
      } else {
        readRow(lineText(path, block, start, end), number, account, onRow, parseLine);
      }
      start = end + 1;
    }
  }
  const requests = dropMisplaced(table, lines, account, order.doubtful);
  return newTrace("reprise", account, {
    header,
    requests,
    provenance: provenanceOf(TraceTable.of(requests), header),
    notes: notesOf(header),
  });
}

const LF = 10;

/**
 * Finds the jobs that can have structural faults, while rows pass by. A job whose rows come with turns and
 * arrivals that never fall, and all name earlier rows as parents or none does, cannot; such is nearly every job of a large trace.
 */
class JobOrder {
  /** Jobs by their number in the table. */
  readonly doubtful = new Set<number>();
  readonly #table: TraceTable;
  readonly #turn = new NumberColumn();
  readonly #arrival = new NumberColumn();
  /** 1 where the job's last row names its parents, 0 where it does not. */
  readonly #names = new NumberColumn();

  constructor(table: TraceTable) {
    this.#table = table;
  }

  add(row: number): void {
    const table = this.#table;
    const job = table.jobOf(row);
    const turn = orElse(table.number(FIELD.turn, row), 0);
    const arrival = orElse(table.number(FIELD.arrival_ms, row), Infinity);
    const names = table.namesParents(row);
    const before = this.#names.at(job);
    // A new job has NaN, which nothing is less than.
    if (
      turn < this.#turn.at(job) ||
      arrival < this.#arrival.at(job) ||
      (names && !this.#followsParents(row, job)) ||
      before === (names ? 0 : 1)
    )
      this.doubtful.add(job);
    this.#names.set(job, names ? 1 : 0);
    this.#turn.set(job, turn);
    this.#arrival.set(job, arrival);
  }

  /** Whether all parents are earlier rows of the job: neither turn nor arrival falls in it, so that none is after its child. */
  #followsParents(row: number, job: number): boolean {
    const table = this.#table;
    const parents = table.parentRows(row);
    if (parents === null) return false;
    for (const parent of parents) if (table.jobOf(parent) !== job) return false;
    return true;
  }
}

function orElse(value: number, other: number): number {
  return Number.isNaN(value) ? other : value;
}

function checkVersion(version: unknown): void {
  if (version !== TRACE_VERSION)
    throw new BadRow(`"reprise_trace" is ${JSON.stringify(version)}; this version reads ${TRACE_VERSION}`);
}

/** Faults that only a whole job shows (unknown parents, cycles, a turn before its parent), named by line. */
function dropMisplaced(
  table: TraceTable,
  lines: IndexColumn,
  account: RowAccount,
  doubtful: ReadonlySet<number>,
): List<TraceRequest> {
  if (doubtful.size === 0) return table;
  const jobs = new Map<number, number[]>();
  for (const [row, job] of table.jobColumn().entries()) {
    if (!doubtful.has(job)) continue;
    const members = jobs.get(job);
    if (members === undefined) jobs.set(job, [row]);
    else members.push(row);
  }
  const bad = new Set<number>();
  for (const members of jobs.values()) {
    for (let left = members; ; left = left.filter((row) => !bad.has(row))) {
      const { faults } = linkParents(left.map((row) => table.member(row)));
      if (faults.length === 0) break;
      for (const { position, reason } of faults) {
        const row = left[position] as number;
        if (bad.has(row)) continue;
        bad.add(row);
        account.revoke(lines.at(row), reason);
      }
    }
  }
  return bad.size === 0 ? table : table.filter((_, row) => !bad.has(row));
}

function provenanceOf(table: TraceTable, header: JsonObject | null): Provenance {
  const any = (test: (row: number) => boolean): boolean => anyRow(table.length, test);
  const some = (test: (row: number) => boolean): Origin => (any(test) ? "recorded" : "missing");
  const all = (test: (row: number) => boolean): Origin => (any((row) => !test(row)) ? "missing" : "recorded");
  const tells = (field: Field, row: number): boolean => !Number.isNaN(table.number(field, row));
  const found: Record<Property, Origin> = {
    arrivals: some((row) => tells(FIELD.arrival_ms, row)),
    order: any((row) => table.namesParents(row) || tells(FIELD.turn, row)) ? "recorded" : "inferred",
    think_time: any((row) => tells(FIELD.think_ms, row))
      ? "recorded"
      : any((row) => tells(FIELD.end_ms, row))
        ? "inferred"
        : "missing",
    prompt_text: all((row) => table.promptKind(row) !== "length"),
    prompt_length: all((row) => !Number.isNaN(table.recordedPromptTokens(row))),
    prefix_sharing: all((row) => table.promptKind(row) !== "length" || table.namesBlocks(row)),
    output_length: all((row) => !Number.isNaN(table.plannedOutputTokens(row))),
    sampling: some((row) => tells(FIELD.temperature, row) || table.whole(row)?.params != null),
  };
  // A header knows better: a converted trace says what its source told.
  const told = header?.["provenance"];
  if (typeof told === "object" && told !== null && !Array.isArray(told)) {
    for (const property of PROPERTIES) {
      const origin = (told as JsonObject)[property];
      if (origin === "recorded" || origin === "inferred" || origin === "made up" || origin === "missing")
        found[property] = origin;
    }
  }
  return found;
}

function anyRow(rows: number, test: (row: number) => boolean): boolean {
  for (let row = 0; row < rows; row++) if (test(row)) return true;
  return false;
}

function notesOf(header: JsonObject | null): readonly string[] {
  const notes = header?.["notes"];
  return Array.isArray(notes) ? notes.filter((note): note is string => typeof note === "string") : [];
}
