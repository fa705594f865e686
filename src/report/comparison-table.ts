/** Two or more runs side by side, the first as the base of the changes. Judges nothing: that is `compare`'s. */
import { plainText, shortText } from "../core/terminal-text.ts";
import { alignColumns, createPaint } from "../core/text-table.ts";
import { CAUSES } from "../metric/job/causes.ts";
import type { Summary } from "../metric/summary.ts";
import { CAUSE_TITLES, causeShares } from "./answer.ts";
import { cell, table } from "./markdown.ts";
import {
  NOT_MEASURED,
  formatChange,
  formatCount,
  formatDurationOf,
  formatNumber,
  formatShare,
} from "./quantity.ts";

interface ComparisonRow {
  readonly title: string;
  readonly values: readonly (number | null)[];
  readonly format: (value: number | null) => string;
  /** Whether a relative change says something (not for shares and counts of failures). */
  readonly change: boolean;
}

export interface ComparedRun {
  readonly name: string;
  readonly summary: Summary;
}

/** Lines for a terminal, ending in a line feed. */
export function renderComparison(runs: readonly ComparedRun[], colour = false): string {
  const paint = createPaint(colour);
  const rows = comparisonRows(runs.map(({ summary }) => summary)).map((row) => [row.title, ...cells(row)]);
  const head = [
    "",
    ...runs.flatMap(({ name }, i) => (i === 0 ? [shortText(name, 28)] : [shortText(name, 28), ""])),
  ];
  const verdicts = ["verdict", ...runs.flatMap(({ summary }, i) => pad(summary.validity.verdict, i))];
  const lines = alignColumns(
    [head, ...rows, verdicts],
    ["left", ...head.slice(1).map(() => "right" as const)],
  );
  const simulated = runs.some(({ summary }) => summary.run.simulated);
  return [paint.bold(lines[0] ?? ""), ...lines.slice(1), ...(simulated ? [paint.dim(SIMULATED)] : [])]
    .map((line) => `${line}\n`)
    .join("");
}

const SIMULATED = "Times of a SIMULATED engine.";

/** The same as a Markdown table. */
export function renderComparisonMarkdown(runs: readonly ComparedRun[]): string {
  const head = ["", ...runs.flatMap(({ name }, i) => (i === 0 ? [cell(name)] : [cell(name), "change"]))];
  const rows = comparisonRows(runs.map(({ summary }) => summary)).map((row) => [row.title, ...cells(row)]);
  rows.push(["verdict", ...runs.flatMap(({ summary }, i) => pad(plainText(summary.validity.verdict), i))]);
  const note = runs.some(({ summary }) => summary.run.simulated) ? `\n\n${SIMULATED}` : "";
  return `${table(
    head,
    rows,
    head.map((_, i) => (i === 0 ? "left" : "right")),
  )}${note}\n`;
}

function pad(text: string, column: number): string[] {
  return column === 0 ? [text] : [text, ""];
}

function cells({ values, format, change }: ComparisonRow): string[] {
  const base = values[0] ?? null;
  return values.flatMap((value, i) => {
    if (i === 0) return [format(value)];
    const ratio = base === null || value === null || base === 0 ? null : value / base - 1;
    return [format(value), !change || ratio === null ? "" : formatChange(ratio)];
  });
}

function comparisonRows(summaries: readonly Summary[]): ComparisonRow[] {
  const row = (
    title: string,
    read: (summary: Summary) => number | null | undefined,
    format: (value: number | null) => string = formatDurationOf,
    change = true,
  ): ComparisonRow => ({ title, values: summaries.map((summary) => read(summary) ?? null), format, change });
  const shares = summaries.map(causeShares);
  const rows = [
    row("job time p50", (s) => s.jobs.job_e2e["p50"]),
    row("job time p95", (s) => s.jobs.job_e2e["p95"]),
    row("job to answer p50", (s) => s.jobs.job_answer["p50"]),
    row("over budget", (s) => s.jobs.budget_miss_rate, formatShare, false),
    row("jobs /h", (s) => s.throughput.jobs_per_hour, formatNumber),
    row("jobs within budget /h", (s) => s.throughput.jobs_in_budget_per_hour, formatNumber),
    row("jobs of one user /h", (s) => s.throughput.jobs_per_hour_per_user, formatNumber),
    ...CAUSES.filter((cause) => shares.some((share) => (share?.[cause] ?? 0) >= 0.005)).map((cause) =>
      row(`  ${CAUSE_TITLES[cause]}`, (s) => s.jobs.breakdown_ms[cause]),
    ),
    row("ttft p50", (s) => s.requests.ttft["p50"]),
    row("ttft p99", (s) => s.requests.ttft["p99"]),
    row("time per output token p50", (s) => s.requests.tpot["p50"]),
    row("time per output token p99", (s) => s.requests.tpot["p99"]),
    row("service time p99", (s) => s.requests.e2e["p99"]),
    row("output tokens /s", (s) => s.throughput.output_tokens_per_s, formatNumber),
    row("requests /s", (s) => s.throughput.requests_per_s, formatNumber),
    row("prefix-cache hit rate", (s) => s.prefix_cache.hit_rate, formatShare, false),
    row("requests ok", (s) => s.counts.ok, formatCount, false),
    row("requests failed", (s) => s.counts.failed, formatCount, false),
    row("jobs ok", (s) => s.jobs.counts.ok, formatCount, false),
  ];
  // A row that no run can fill says nothing.
  return rows.filter(({ values, format }) =>
    values.some((value) => value !== null && format(value) !== NOT_MEASURED),
  );
}
