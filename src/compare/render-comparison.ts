/** A comparison for people (terminal), for pull requests (Markdown), and for scripts (JSON). */
import type { JsonObject, JsonValue } from "../core/json.ts";
import { formatDuration } from "../core/duration.ts";
import { markdownText } from "../core/markdown-text.ts";
import { plainText, shortText } from "../core/terminal-text.ts";
import { alignColumns } from "../core/text-table.ts";
import type { Comparison, StatisticRow } from "./compare-runs.ts";
import type { GateVerdict } from "./gate.ts";

const SHOWN_JOBS = 10;

export function renderComparisonTerminal(comparison: Comparison, gate: GateVerdict | null = null): string {
  const lines: string[] = [
    `${plainText(sideName(comparison, "b"))} against ${plainText(sideName(comparison, "a"))}`,
  ];
  for (const { severity, text } of comparison.concerns)
    lines.push(`  ${severity === "note" ? "note" : "WARNING"}: ${plainText(text)}`);
  lines.push("", ...changeLines(comparison).map((line) => `  ${line}`));
  const table = [
    ["statistic", "before", "now", "change", "95 % interval", "noise", ""],
    ...comparison.rows.map((row) => cells(row)),
  ];
  lines.push(
    ...alignColumns(table).map((line) => `  ${line}`),
    "",
    `  over ${comparison.paired_jobs} jobs ok in both`,
  );
  lines.push(...statusLines(comparison).map((line) => `  ${line}`));
  if (gate !== null) lines.push("", ...gateLines(gate).map((line) => `  ${line}`));
  return `${lines.join("\n")}\n`;
}

export function renderComparisonMarkdown(comparison: Comparison, gate: GateVerdict | null = null): string {
  const lines: string[] = [];
  if (gate !== null) lines.push(`### Gate: ${gate.passed ? "passed" : "**failed**"}`, "");
  else lines.push("### Comparison", "");
  lines.push(
    `**${markdownText(sideName(comparison, "b"))}** against **${markdownText(sideName(comparison, "a"))}**, ${comparison.paired_jobs} jobs ok in both`,
    "",
  );
  for (const { severity, text } of comparison.concerns)
    lines.push(`> ${severity === "note" ? "Note" : "**Warning**"}: ${markdownText(text)}`);
  if (comparison.concerns.length > 0) lines.push("");
  lines.push(
    "| statistic | before | now | change | 95 % interval | noise | |",
    "|---|--:|--:|--:|:-:|--:|---|",
    ...comparison.rows.map((row) => `| ${cells(row).map(markdownText).join(" | ")} |`),
    "",
    ...statusLines(comparison).map((line) => `- ${markdownText(line)}`),
  );
  if (gate !== null) lines.push("", ...gateLines(gate).map((line) => `- ${markdownText(line)}`));
  const changes = changeLines(comparison);
  if (changes.length > 0)
    lines.push(
      "",
      "<details><summary>What differs</summary>",
      "",
      ...changes.map((line) => `- ${markdownText(line)}`),
      "",
      "</details>",
    );
  return `${lines.join("\n")}\n`;
}

/** Numbers unrounded; `null` = not measured. */
export function comparisonJson(comparison: Comparison, gate: GateVerdict | null = null): JsonObject {
  const {
    a,
    b,
    concerns,
    paired_jobs,
    jobs,
    failed_requests,
    status_changes,
    option_changes,
    server_changes,
  } = comparison;
  const value: unknown = {
    reprise_comparison: 1,
    a: { label: a.label, folder: a.folder, version: a.version, runs: comparison.runs.a },
    b: { label: b.label, folder: b.folder, version: b.version, runs: comparison.runs.b },
    concerns,
    paired_jobs,
    jobs,
    failed_requests,
    status_changes,
    statistics: Object.fromEntries(
      comparison.rows.map(
        ({ statistic, a: before, b: now, ratio, interval, verdict, noise, n, low_sample }) => [
          statistic.text,
          { a: before, b: now, n, ratio, interval, verdict, noise, low_sample },
        ],
      ),
    ),
    option_changes,
    server_changes,
    gate:
      gate === null ? null : { passed: gate.passed, regressions: gate.regressions, results: gate.results },
  };
  return value as JsonObject;
}

function sideName(comparison: Comparison, side: "a" | "b"): string {
  const runs = comparison.runs[side];
  return comparison[side].label + (runs === 1 ? "" : ` (${runs} runs)`);
}

function cells(row: StatisticRow): string[] {
  const { statistic, a, b, ratio, interval, verdict, noise } = row;
  return [
    statistic.text + (row.low_sample ? " *" : ""),
    amount(statistic.metric, a),
    amount(statistic.metric, b),
    ratio === null ? "–" : change(ratio),
    interval === null ? "–" : `${change(interval.low)} … ${change(interval.high)}`,
    noise === null ? "–" : `±${((noise - 1) * 100).toFixed(1)} %`,
    verdict === "unclear" ? "" : verdict,
  ];
}

function amount(metric: string, value: number | null): string {
  if (value === null) return "–";
  if (/tokens|turns/.test(metric)) return value.toFixed(1);
  if (metric === "output_tps") return `${value.toFixed(1)} tok/s`;
  return formatDuration(value);
}

function change(ratio: number): string {
  if (ratio >= 3) return `×${ratio.toFixed(2)}`;
  const percent = (ratio - 1) * 100;
  return `${percent >= 0 ? "+" : ""}${percent.toFixed(1)} %`;
}

function statusLines({ jobs, failed_requests, status_changes, rows }: Comparison): string[] {
  const lines = [
    `jobs ok ${jobs.a.ok} → ${jobs.b.ok}, failed ${jobs.a.failed} → ${jobs.b.failed}, ` +
      `unfinished ${jobs.a.unfinished} → ${jobs.b.unfinished}; failed requests ${failed_requests.a} → ${failed_requests.b}`,
  ];
  if (rows.some((row) => row.low_sample))
    lines.push("* from fewer values than this percentile needs: nearly the largest of them");
  if (jobs.a.over_budget !== null || jobs.b.over_budget !== null)
    lines.push(`jobs over budget ${jobs.a.over_budget ?? "–"} → ${jobs.b.over_budget ?? "–"}`);
  for (const { job_id, a, b } of status_changes.slice(0, SHOWN_JOBS))
    lines.push(`job ${shortText(job_id, 60)}: ${a} → ${b}`);
  if (status_changes.length > SHOWN_JOBS)
    lines.push(`… and ${status_changes.length - SHOWN_JOBS} more jobs changed`);
  return lines;
}

function changeLines({ option_changes, server_changes }: Comparison): string[] {
  const show = (value: JsonValue): string =>
    value === null ? "unset" : shortText(JSON.stringify(value), 60);
  return [
    ...option_changes.map(({ key, a, b }) => `${plainText(key)}: ${show(a)} → ${show(b)}`),
    ...server_changes.map(({ key, a, b }) => `server ${plainText(key)}: ${show(a)} → ${show(b)}`),
  ];
}

function gateLines(gate: GateVerdict): string[] {
  return [
    ...gate.results.map(
      ({ text, outcome, reason }) =>
        `${outcome === "passed" ? "pass" : "FAIL"}  ${plainText(text)}: ${reason}`,
    ),
    ...gate.regressions.map((text) => `FAIL  ${text}`),
  ];
}
