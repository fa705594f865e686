/** Jobs, turns and records of one run, packed for the page, in bounded size: what does not fit is chosen, counted and said. */
import type { RunAnalysis } from "../../metric/summarize.ts";
import { CAUSES } from "../../metric/job/causes.ts";
import type { RequestRecord } from "../../record/request-record.ts";
import { FAILURE_CODES } from "../../core/failure.ts";
import { formatCount } from "../quantity.ts";
import { ColumnWriter, MICROSECOND } from "./columns.ts";
import type { Detail, FailureKind } from "./page-data.ts";

/** For the whole page; several runs share them. */
export interface DetailLimits {
  readonly jobs: number;
  readonly turns: number;
  /** Characters of JSON. */
  readonly records: number;
}

export const DETAIL_LIMITS: DetailLimits = { jobs: 50_000, turns: 150_000, records: 3_000_000 };

export interface PackedDetail {
  readonly detail: Detail | null;
  readonly pieces: readonly string[];
  readonly failures: readonly FailureKind[];
  readonly left_out: readonly string[];
}

export async function packDetail(
  analysis: RunAnalysis,
  records: () => AsyncIterable<readonly RequestRecord[]>,
  limits: DetailLimits,
): Promise<PackedDetail> {
  const { jobs, requests } = analysis;
  const chosen = chooseJobs(analysis, limits);
  const writer = new ColumnWriter();
  writeJobs(writer, analysis, chosen.jobs);
  const rows = chosen.detailed.flatMap((job) => [...jobs.view(job).rows].sort(byIntended(analysis)));
  const kept = await readRecords(records, rows, requests.n, limits.records);
  writeTurns(writer, analysis, chosen, rows, kept);
  const detail: Detail = {
    jobs: chosen.jobs.length,
    jobs_total: jobs.n,
    turns: rows.length,
    turns_total: requests.n,
    records: kept.lines.length,
    directory: writer.directory,
    agents: kept.agents,
    bytes: writer.length,
  };
  const pieces = await writer.packed();
  return {
    detail: jobs.n === 0 ? null : detail,
    pieces: jobs.n === 0 ? [] : pieces,
    failures: kept.failures,
    left_out: leftOut(detail, chosen.detailed.length),
  };
}

function leftOut(detail: Detail, detailed: number): string[] {
  const said: string[] = [];
  const of = (shown: number, total: number): string => `${formatCount(shown)} of ${formatCount(total)}`;
  if (detail.jobs < detail.jobs_total)
    said.push(
      `job by job: ${of(detail.jobs, detail.jobs_total)} jobs (every failed one, the slowest, and an even sample)`,
    );
  if (detail.turns < detail.turns_total)
    said.push(
      `turn by turn: ${of(detail.turns, detail.turns_total)} turns, of ${formatCount(detailed)} jobs (failed ones, the slowest, and an even sample)`,
    );
  if (detail.records < detail.turns_total)
    said.push(
      `records: ${of(detail.records, detail.turns_total)} (failed ones first); the others are in records.jsonl`,
    );
  if (said.length > 0) said.push("every number, table and distribution stands on all of them");
  return said;
}

interface Chosen {
  /** In the order of their start. */
  readonly jobs: Int32Array;
  /** Those whose turns are in the page, in the same order. */
  readonly detailed: readonly number[];
}

function chooseJobs({ jobs, requests }: RunAnalysis, limits: DetailLimits): Chosen {
  const all = Int32Array.from({ length: jobs.n }, (_unused, job) => job);
  const start = (job: number): number => {
    const at = jobs.start[job] as number;
    return Number.isNaN(at) ? Infinity : at;
  };
  const byStart = all.sort((a, b) => start(a) - start(b) || a - b);
  const turns = new Int32Array(jobs.n);
  for (const job of requests.job) turns[job] = (turns[job] as number) + 1;
  const wanted = (most: number, cost: (job: number) => number, from: Int32Array): Uint8Array => {
    const taken = new Uint8Array(jobs.n);
    let spent = 0;
    const take = (job: number, until: number): void => {
      if (taken[job] === 1 || spent + cost(job) > until) return;
      taken[job] = 1;
      spent += cost(job);
    };
    let total = 0;
    for (const job of from) total += cost(job);
    if (total <= most) {
      for (const job of from) taken[job] = 1;
      return taken;
    }
    for (const job of from) if (jobs.status[job] !== 0) take(job, most * 0.4);
    const length = jobs.metrics.job_e2e;
    const slow = Array.from(from)
      .filter((job) => !Number.isNaN(length[job] as number))
      .sort((a, b) => (length[b] as number) - (length[a] as number));
    for (const job of slow.slice(0, Math.ceil(slow.length / 10))) take(job, spent + most * 0.2);
    // An even sample over time fills the rest.
    const step = Math.max(1, total / Math.max(1, most - spent));
    for (let at = 0; at < from.length; at += step) take(from[Math.floor(at)] as number, most);
    for (const job of from) take(job, most);
    return taken;
  };
  const shown = wanted(limits.jobs, () => 1, byStart);
  const inPage = byStart.filter((job) => shown[job] === 1);
  const detailed = wanted(limits.turns, (job) => turns[job] as number, inPage);
  return { jobs: inPage, detailed: Array.from(inPage).filter((job) => detailed[job] === 1) };
}

function byIntended({ requests }: RunAnalysis): (a: number, b: number) => number {
  const { intended } = requests.columns;
  const at = (row: number): number => {
    const due = intended[row] as number;
    return Number.isNaN(due) ? Infinity : due;
  };
  return (a, b) => {
    const [x, y] = [at(a), at(b)];
    return x === y ? (requests.turn[a] as number) - (requests.turn[b] as number) || a - b : x - y;
  };
}

function writeJobs(writer: ColumnWriter, { jobs }: RunAnalysis, chosen: Int32Array): void {
  const of = (read: (job: number) => number): Float64Array => Float64Array.from(chosen, read);
  writer.text(
    "job.id",
    Array.from(chosen, (job) => jobs.ids[job] as string),
  );
  const start = of((job) => jobs.start[job] as number);
  const end = of((job) => jobs.end[job] as number);
  writer.numbers("job.start", start, MICROSECOND, "delta");
  writer.numbers(
    "job.length",
    end.map((at, i) => at - (start[i] as number)),
    MICROSECOND,
  );
  writer.numbers(
    "job.status",
    of((job) => jobs.status[job] as number),
  );
  const rows = Array.from(chosen, (job) => jobs.row(job));
  const told = (value: number | null): number => value ?? NaN;
  writer.numbers(
    "job.outcome",
    rows.map(({ outcome }) => OUTCOME_CODES.indexOf(outcome)),
  );
  writer.numbers(
    "job.optimal_hit_rate",
    rows.map((row) => told(row.optimal_hit_rate)),
    MILLIONTH,
  );
  writer.numbers(
    "job.hit_rate",
    rows.map((row) => told(row.hit_rate)),
    MILLIONTH,
  );
  writer.numbers(
    "job.budget",
    of((job) => jobs.budget[job] as number),
    MICROSECOND,
    "delta",
  );
  for (const id of ["job_first_token", "job_answer", "queueing"] as const)
    writer.numbers(
      `job.${id}`,
      of((job) => jobs.metrics[id][job] as number),
      MICROSECOND,
    );
  for (const id of ["job_turns", "job_prompt_tokens", "job_output_tokens"] as const)
    writer.numbers(
      `job.${id}`,
      of((job) => jobs.metrics[id][job] as number),
    );
  CAUSES.forEach((cause, i) => {
    const values = of((job) => jobs.causes[job * CAUSES.length + i] as number);
    writer.numbers(`job.cause.${cause}`, values, MICROSECOND);
  });
}

/** Shares are kept to a millionth. */
const MILLIONTH = 1e-6;

/** Codes of `job.outcome`. */
export const OUTCOME_CODES = [null, "within", "over", "censored", "not_started"] as const;

function writeTurns(
  writer: ColumnWriter,
  { requests, split, jobs }: RunAnalysis,
  chosen: Chosen,
  rows: readonly number[],
  kept: KeptRecords,
): void {
  const place = new Map(Array.from(chosen.jobs, (job, at) => [job, at]));
  const { columns, status, turn, failure } = requests;
  const of = (read: (row: number) => number): Float64Array => Float64Array.from(rows, read);
  writer.numbers(
    "turn.job",
    of((row) => place.get(requests.job[row] as number) as number),
    1,
    "delta",
  );
  writer.numbers(
    "turn.turn",
    of((row) => turn[row] as number),
    1,
    "delta",
  );
  writer.numbers(
    "turn.status",
    of((row) => status[row] as number),
  );
  writer.numbers(
    "turn.failure",
    of((row) => failure[row] as number),
  );
  writer.numbers(
    "turn.agent",
    of((row) => kept.agentOf(row)),
  );
  writer.numbers(
    "turn.record",
    of((row) => kept.lineOf(row)),
    1,
    "delta",
  );
  const intended = of((row) => columns.intended[row] as number);
  writer.numbers("turn.intended", intended, MICROSECOND, "delta");
  const after = (name: string, at: (row: number) => number, from: (row: number) => number): void =>
    writer.numbers(
      `turn.${name}`,
      of((row) => at(row) - from(row)),
      MICROSECOND,
    );
  const due = (row: number): number => columns.intended[row] as number;
  const sent = (row: number): number => columns.sent[row] as number;
  after("slot_after_intended", (row) => columns.slot[row] as number, due);
  after("sent_after_intended", sent, due);
  writer.numbers(
    "turn.connect",
    of((row) => columns.connect[row] as number),
    MICROSECOND,
  );
  writer.numbers(
    "turn.ttft",
    of((row) => requests.metrics.ttft[row] as number),
    MICROSECOND,
  );
  writer.numbers(
    "turn.prefill",
    of((row) => split.prefill(row)),
    MICROSECOND,
  );
  after(
    "last_after_first",
    (row) => columns.last_token[row] as number,
    (row) => columns.first_token[row] as number,
  );
  after("e2e", (row) => columns.end[row] as number, sent);
  writer.numbers(
    "turn.tpot",
    of((row) => requests.metrics.tpot[row] as number),
    MICROSECOND,
  );
  for (const name of ["prompt_tokens", "output_tokens", "cached_tokens"] as const)
    writer.numbers(
      `turn.${name}`,
      of((row) => columns[name][row] as number),
    );
  writer.text("records", kept.lines);
  writer.text("failure_codes", [...FAILURE_CODES]);
  void jobs;
}

interface KeptRecords {
  readonly lines: readonly string[];
  readonly agents: readonly string[];
  readonly failures: readonly FailureKind[];
  /** Position of the row's record in `lines`; NaN where it was left out. */
  lineOf(row: number): number;
  agentOf(row: number): number;
}

const MOST_MESSAGES = 20;
const LONGEST_TEXT = 4000;
/** Part of the budget kept for failed requests, wherever in the log they come. */
const FOR_FAILURES = 0.3;

/** One pass over the log. */
async function readRecords(
  records: () => AsyncIterable<readonly RequestRecord[]>,
  rows: readonly number[],
  total: number,
  budget: number,
): Promise<KeptRecords> {
  const wanted = new Uint8Array(total);
  for (const row of rows) wanted[row] = 1;
  const line = new Int32Array(total).fill(-1);
  const agent = new Int32Array(total).fill(-1);
  const lines: string[] = [];
  const agents = new Map<string, number>();
  const failures = new Map<string, { n: number; messages: Map<string, number> }>();
  let ordinary = budget * (1 - FOR_FAILURES);
  let forFailures = budget * FOR_FAILURES;
  let row = -1;
  for await (const batch of records()) {
    for (const record of batch) {
      row++;
      // A log that still grows is longer now than when it was analysed.
      if (row >= total) break;
      if (record.failure !== null && record.status === "failed") countFailure(failures, record);
      if (wanted[row] !== 1) continue;
      if (record.agent !== null) {
        if (!agents.has(record.agent) && agents.size < 5000) agents.set(record.agent, agents.size);
        agent[row] = agents.get(record.agent) ?? -1;
      }
      const failed = record.status === "failed";
      if ((failed ? forFailures : ordinary) <= 0) continue;
      const text = recordText(record);
      if (failed) forFailures -= text.length;
      else ordinary -= text.length;
      line[row] = lines.length;
      lines.push(text);
    }
  }
  return {
    lines,
    agents: [...agents.keys()],
    failures: [...failures]
      .map(([code, { n, messages }]) => ({
        code,
        n,
        messages: [...messages].map(([text, count]) => ({ text, n: count })).sort((a, b) => b.n - a.n),
      }))
      .sort((a, b) => b.n - a.n),
    lineOf: (of) => orMissing(line[of]),
    agentOf: (of) => orMissing(agent[of]),
  };
}

function orMissing(position: number | undefined): number {
  return position === undefined || position < 0 ? NaN : position;
}

function countFailure(
  failures: Map<string, { n: number; messages: Map<string, number> }>,
  { failure }: RequestRecord,
): void {
  if (failure === null) return;
  let kind = failures.get(failure.code);
  if (kind === undefined) {
    kind = { n: 0, messages: new Map() };
    failures.set(failure.code, kind);
  }
  kind.n++;
  const text = failure.message.slice(0, 400);
  if (kind.messages.has(text) || kind.messages.size < MOST_MESSAGES)
    kind.messages.set(text, (kind.messages.get(text) ?? 0) + 1);
}

/** The record without its chunk times, long text cut: both are in the log. */
function recordText(record: RequestRecord): string {
  const { chunk_ms: _times, chunk_tokens: _tokens, text, ...rest } = record;
  const cut =
    text === undefined ? {} : { text: text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text };
  const line = JSON.stringify({ ...rest, ...cut });
  return line.length > 4 * LONGEST_TEXT
    ? JSON.stringify({
        request_id: record.request_id,
        status: record.status,
        note: "too long for the page; see records.jsonl",
      })
    : line;
}
