/**
 * CSV (RFC 4180, LF): `jobs` (one row a job, with its own breakdown), `requests` (one row a request; the first columns are
 * those of the agentic plan's result file), `metrics` (one row a distribution, with its percentiles).
 */
import { UserError } from "../core/failure.ts";
import { secrets } from "../core/secret.ts";
import { plainText } from "../core/terminal-text.ts";
import { CAUSES } from "../metric/job/causes.ts";
import { JOB_METRICS, JOB_METRIC_IDS } from "../metric/job/index.ts";
import type { JobRow } from "../metric/job/job-table.ts";
import { POOLED_METRICS, REQUEST_METRICS } from "../metric/request/index.ts";
import type { RunAnalysis } from "../metric/summarize.ts";
import type { RequestRecord } from "../record/request-record.ts";
import { jobRows, percentileKeys, requestRows } from "./metric-rows.ts";
import type { ReportFormat, ReportInput } from "./report-format.ts";

export const CSV_TABLES = ["jobs", "requests", "metrics"] as const;
type CsvTable = (typeof CSV_TABLES)[number];

export const csv: ReportFormat = {
  name: "csv",
  title: `one table: ${CSV_TABLES.join(", ")}`,
  render: (input) => {
    const name = input.options.table ?? "jobs";
    const table = CSV_TABLES.find((known) => known === name);
    if (table === undefined)
      throw new UserError(`no CSV table "${name}"`, { hint: `choose one of ${CSV_TABLES.join(", ")}` });
    return RENDER[table](input);
  },
};

const RENDER: Readonly<Record<CsvTable, (input: ReportInput) => AsyncIterable<string>>> = {
  jobs: ({ analysis }) => jobTable(analysis),
  requests: ({ records }) => requestTable(records()),
  metrics: ({ analysis }) => metricTable(analysis),
};

type Cell = string | number | null;

/** Rows gathered into one string: a string a row would cost more than the numbers in it. */
const ROWS_AT_ONCE = 1000;

const JOB_COLUMNS: readonly (readonly [string, (job: JobRow) => Cell])[] = [
  ["job_id", (job) => job.job_id],
  ["status", (job) => job.status],
  ["outcome", (job) => job.outcome],
  ["turns_planned", (job) => job.planned_turns],
  ["start_ms", (job) => job.start_ms],
  ["end_ms", (job) => job.end_ms],
  ["budget_ms", (job) => job.budget_ms],
  ["budget_source", (job) => job.budget_source],
  ...JOB_METRIC_IDS.map(
    (id) =>
      [JOB_METRICS[id].unit === "ms" ? `${id}_ms` : id, (job: JobRow): Cell => job.metrics[id]] as const,
  ),
  ...CAUSES.map(
    (cause) => [`${cause}_ms`, (job: JobRow): Cell => job.breakdown_ms?.[cause] ?? null] as const,
  ),
  ["dominated_by", (job) => job.dominated_by],
  ["optimal_hit_rate", (job) => job.optimal_hit_rate],
  ["hit_rate", (job) => job.hit_rate],
  ["error", (job) => job.failure],
];

async function* jobTable({ jobs }: RunAnalysis): AsyncGenerator<string> {
  yield csvLine(JOB_COLUMNS.map(([name]) => name));
  let lines = "";
  for (let job = 0; job < jobs.n; job++) {
    const row = jobs.row(job);
    lines += csvLine(JOB_COLUMNS.map(([, value]) => value(row)));
    if (job % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) {
      yield lines;
      lines = "";
    }
  }
  yield lines;
}

const { ttft, ttfo, tpot, e2e, response, slot_wait, lateness } = REQUEST_METRICS;

const REQUEST_COLUMNS: readonly (readonly [string, (record: RequestRecord) => Cell])[] = [
  ["request_id", (r) => r.request_id],
  ["job_id", (r) => r.job_id],
  ["turn", (r) => r.turn],
  ["arrival_ms", (r) => r.intended_ms],
  ["start_ms", (r) => r.sent_ms],
  ["first_token_ms", (r) => r.first_token_ms],
  ["end_ms", (r) => r.end_ms],
  ["ttft_ms", (r) => ttft.value(r)],
  ["total_ms", (r) => e2e.value(r)],
  ["output_tokens", (r) => r.output_tokens],
  ["prompt_tokens", (r) => r.prompt_tokens],
  ["status", (r) => r.status],
  ["error", (r) => (r.failure === null ? null : `${r.failure.code}: ${r.failure.message}`)],
  ["http_status", (r) => r.failure?.http_status ?? null],
  ["slot_ms", (r) => r.slot_ms],
  ["connect_ms", (r) => r.connect_ms],
  ["first_output_ms", (r) => r.first_output_ms],
  ["last_token_ms", (r) => r.last_token_ms],
  ["ttfo_ms", (r) => ttfo.value(r)],
  ["tpot_ms", (r) => tpot.value(r)],
  ["itl_mean_ms", (r) => POOLED_METRICS.itl.mean(r)],
  ["response_ms", (r) => response.value(r)],
  ["slot_wait_ms", (r) => slot_wait.value(r)],
  ["lateness_ms", (r) => lateness.value(r)],
  ["cached_tokens", (r) => r.cached_tokens],
  ["reasoning_tokens", (r) => r.reasoning_tokens],
  ["prompt_tokens_source", (r) => r.prompt_tokens_source],
  ["output_tokens_source", (r) => r.output_tokens_source],
  ["planned_prompt_tokens", (r) => r.planned_prompt_tokens],
  ["planned_output_tokens", (r) => r.planned_output_tokens],
  ["finish_reason", (r) => r.finish_reason],
  ["attempts", (r) => r.attempts],
  ["agent", (r) => r.agent],
];

async function* requestTable(records: AsyncIterable<readonly RequestRecord[]>): AsyncGenerator<string> {
  yield csvLine(REQUEST_COLUMNS.map(([name]) => name));
  for await (const batch of records)
    yield batch.map((record) => csvLine(REQUEST_COLUMNS.map(([, value]) => value(record)))).join("");
}

async function* metricTable({ summary }: RunAnalysis): AsyncGenerator<string> {
  const rows = [...requestRows(summary), ...jobRows(summary)];
  const keys = percentileKeys(rows);
  yield csvLine(["metric", "unit", "n", "mean", "std", "min", "max", ...keys]);
  for (const { id, unit, distribution: d } of rows)
    yield csvLine([id, unit, d.n, d.mean, d.std, d.min, d.max, ...keys.map((key) => d[key] ?? null)]);
}

/** One line with its LF. `null` is an empty cell. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(",")}\n`;
}

/** Times carry rounding of doubles (1e-10 ms); nine decimals of a millisecond are enough. */
function csvCell(value: Cell): string {
  if (value === null) return "";
  if (typeof value === "number") return String(Math.round(value * 1e9) / 1e9);
  let text = plainText(secrets.redact(value));
  // A spreadsheet must not run text of a server or a trace as a formula.
  if (/^\s*[=+\-@]|^\\[trn]/.test(text)) text = `'${text}`;
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
