/** The report for people at a terminal: the answer first, then the tables. Readable at 100 columns. */
import { plainText } from "../core/terminal-text.ts";
import { type Align, type Paint, alignColumns, createPaint, width } from "../core/text-table.ts";
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

const WIDTH = 100;

export const terminal: ReportFormat = {
  name: "terminal",
  title: "for people: the answer, then tables",
  render: ({ analysis, options }) => renderTerminal(analysis.summary, options.colour ?? false),
};

/** The whole text, ending in a line feed. */
export function renderTerminal(summary: Summary, colour = false): string {
  const paint = createPaint(colour);
  const requests = requestRows(summary);
  const jobs = hasJobs(summary) ? jobRows(summary) : [];
  const blocks: string[][] = [answerBlock(summary, paint)];
  if (summary.objectives.length > 0) blocks.push(objectiveBlock(summary, paint));
  if (jobs.length > 0) blocks.push(tableBlock("Jobs", jobs, paint));
  const causes = causeBlock(summary, paint);
  if (causes.length > 0) blocks.push(causes);
  blocks.push(tableBlock("Requests", requests, paint));
  for (const { title, facts } of sections(summary)) blocks.push([paint.bold(title), ...factLines(facts)]);
  if (hasLowSample([...jobs, ...requests])) blocks.push([paint.dim(LOW_SAMPLE_NOTE)]);
  return `${blocks.map((lines) => lines.join("\n")).join("\n\n")}\n`;
}

function answerBlock(summary: Summary, paint: Paint): string[] {
  const lines = answerLines(summary);
  const labels = Math.max(...lines.map(({ label }) => width(label))) + 2;
  return lines.flatMap(({ label, text, tone }) => {
    const parts = wrap(text, WIDTH - labels);
    return parts.map((part, i) => {
      const shown = tone === "plain" ? paint.bold(part) : paint[tone](part);
      return `${(i === 0 ? label : "").padEnd(labels)}${shown}`;
    });
  });
}

function objectiveBlock({ objectives }: Summary, paint: Paint): string[] {
  const rows = objectives.map(({ text, value, met, unit }) => [
    met ? paint.good("met") : paint.bad("MISSED"),
    plainText(text),
    value === null ? "not measured" : `is ${formatObjective(value, unit)}`,
  ]);
  return [paint.bold("Objectives"), ...indent(alignColumns(rows, ["left", "left", "left"]))];
}

function tableBlock(title: string, rows: readonly MetricRow[], paint: Paint): string[] {
  const keys = percentileKeys(rows);
  const head = [title, "n", "mean", ...keys, "max"];
  const align: Align[] = ["left", ...head.slice(1).map(() => "right" as const)];
  const [first = "", ...rest] = alignColumns([head, ...rows.map((row) => metricCells(row, keys))], align);
  return [paint.bold(first), ...rest];
}

function causeBlock(summary: Summary, paint: Paint): string[] {
  const shares = causeShares(summary);
  if (shares === null) return [];
  const { breakdown_ms, dominated_by, engine_split } = summary.jobs;
  const rows = CAUSES.filter((cause) => shares[cause] !== 0).map((cause) => [
    CAUSE_TITLES[cause],
    formatDurationOf(breakdown_ms[cause]),
    formatShare(shares[cause]),
    formatCount(dominated_by[cause] ?? 0),
  ]);
  const head = [causeTitle(summary), "mean", "share", "jobs dominated"];
  const [first = "", ...rest] = alignColumns([head, ...rows], ["left", "right", "right", "right"]);
  const lines = [paint.bold(first), ...rest];
  if (engine_split.basis !== null) lines.push(...wrap(splitNote(summary), WIDTH).map(paint.dim));
  return lines;
}

/** Who tells engine waiting from prefill. */
export function splitNote({ jobs }: Summary): string {
  const { basis, estimated_from, sources } = jobs.engine_split;
  const estimate = {
    calibration: "an estimate from the calibration pass",
    engine_counters: "an estimate by prompt length, scaled to the engine's own mean prefill time",
    envelope: "an estimate from the fastest first tokens by uncached prompt length (surer with --calibrate)",
  }[estimated_from ?? "envelope"];
  const told = `told by the server${sources.length > 0 ? ` (${sources.map(plainText).join(", ")})` : ""}`;
  const by =
    basis === "server" ? told : basis === "estimate" ? estimate : `partly ${told}, partly ${estimate}`;
  return `engine waiting against prefill: ${by}`;
}

function factLines(facts: readonly (readonly [string, string])[]): string[] {
  const labels = Math.max(...facts.map(([label]) => width(label))) + 2;
  return facts.flatMap(([label, value]) =>
    wrap(value, WIDTH - labels - 2).map((part, i) => `  ${(i === 0 ? label : "").padEnd(labels)}${part}`),
  );
}

function indent(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}

/** Breaks at spaces; a word longer than a line is left whole. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  // A number stays with its unit.
  for (const word of text.split(/ (?!(?:%|ms|s)(?:[^\p{L}]|$))/u)) {
    if (line !== "" && width(line) + 1 + width(word) > columns) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
