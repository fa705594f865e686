/** The report for a pull request or a wiki. Text from outside cannot break out of its cell. */
import { markdownText } from "../core/markdown-text.ts";
import { CAUSES } from "../metric/job/causes.ts";
import type { Summary } from "../metric/summary.ts";
import { CAUSE_TITLES, answerLines, causeShares, causeTitle, hasJobs } from "./answer.ts";
import { sections } from "./facts.ts";
import {
  LOW_SAMPLE_NOTE,
  type MetricRow,
  hasLowSample,
  jobRows,
  metricCells,
  percentileKeys,
  requestRows,
} from "./metric-rows.ts";
import { formatCount, formatDurationOf, formatObjective, formatShare } from "./quantity.ts";
import type { ReportFormat } from "./report-format.ts";
import { splitNote } from "./terminal.ts";

export const markdown: ReportFormat = {
  name: "md",
  title: "Markdown tables",
  render: ({ analysis }) => renderMarkdown(analysis.summary),
};

export function renderMarkdown(summary: Summary): string {
  const jobs = hasJobs(summary) ? jobRows(summary) : [];
  const requests = requestRows(summary);
  const parts = [
    `## ${cell(summary.run.label ?? summary.run.model)}`,
    table(
      ["", ""],
      answerLines(summary).map(({ label, text }) => [`**${label}**`, cell(text)]),
      ["left", "left"],
    ),
  ];
  if (summary.objectives.length > 0) {
    parts.push(
      table(
        ["objective", "value", ""],
        summary.objectives.map(({ text, value, met, unit }) => [
          cell(text),
          value === null ? "not measured" : formatObjective(value, unit),
          met ? "met" : "**missed**",
        ]),
        ["left", "right", "left"],
      ),
    );
  }
  if (jobs.length > 0) parts.push(metricTable("Jobs", jobs));
  const shares = causeShares(summary);
  if (shares !== null) {
    parts.push(
      table(
        [causeTitle(summary), "mean", "share", "jobs dominated"],
        CAUSES.filter((cause) => shares[cause] !== 0).map((cause) => [
          CAUSE_TITLES[cause],
          formatDurationOf(summary.jobs.breakdown_ms[cause]),
          formatShare(shares[cause]),
          formatCount(summary.jobs.dominated_by[cause] ?? 0),
        ]),
        ["left", "right", "right", "right"],
      ),
    );
    if (summary.jobs.engine_split.basis !== null) parts.push(cell(splitNote(summary)));
  }
  parts.push(metricTable("Requests", requests));
  for (const { title, facts } of sections(summary))
    parts.push(
      table(
        [title, ""],
        facts.map(([label, value]) => [cell(label), cell(value)]),
        ["left", "left"],
      ),
    );
  if (hasLowSample([...jobs, ...requests])) parts.push(cell(LOW_SAMPLE_NOTE));
  return `${parts.join("\n\n")}\n`;
}

function metricTable(title: string, rows: readonly MetricRow[]): string {
  const keys = percentileKeys(rows);
  const head = [title, "n", "mean", ...keys, "max"];
  return table(
    head,
    rows.map((row) => metricCells(row, keys).map(cell)),
    head.map((_, i) => (i === 0 ? "left" : "right")),
  );
}

/** Lines of a Markdown table; cells must have gone through {@link cell} where they hold text from outside. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  align: readonly ("left" | "right")[],
): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), line(align.map((side) => (side === "left" ? "---" : "---:"))), ...rows.map(line)].join(
    "\n",
  );
}

/** Text as one cell, or as a line of its own: neither markup nor the mark of a heading or a list. */
export function cell(text: string): string {
  return markdownText(text).replace(/^([#+-])/, "\\$1");
}
