/** `comparison.csv`, `comparison.md`, `comparison.json`, and the table on the terminal. */
import type { JsonObject, JsonValue } from "../core/json.ts";
import { markdownText } from "../core/markdown-text.ts";
import { plainText, shortText } from "../core/terminal-text.ts";
import { alignColumns } from "../core/text-table.ts";
import { CELL_METRIC_IDS, type CellMetric } from "./cell-result.ts";
import { metricName, showMetric, type RankedCell, type SweepRanking } from "./rank-cells.ts";

/** Metrics of the tables for people; the CSV and the JSON have all. */
const SHOWN: readonly CellMetric[] = [
  "job_e2e_p50_ms",
  "job_e2e_p99_ms",
  "job_queueing_p50_ms",
  "job_queueing_p99_ms",
  "ttft_p50_ms",
  "ttft_p99_ms",
  "jobs_per_hour",
  "jobs_per_hour_per_user",
  "jobs_per_hour_per_gpu",
  "output_tokens_per_s_per_user",
  "prefix_hit_rate",
  "budget_miss_rate",
];

/** One line a cell, in the listed order. Numbers unrounded; empty = not measured. */
export function renderSweepCsv(ranking: SweepRanking): string {
  const dimensions = dimensionsOf(ranking.cells);
  const repeated = ranking.cells.some(({ result }) => result.repeats_wanted > 1);
  const header = [
    "cell",
    ...dimensions,
    "status",
    "runs",
    ...CELL_METRIC_IDS.flatMap((id) => (repeated ? [id, `${id}_min`, `${id}_max`] : [id])),
    "jobs_ok",
    "jobs_failed",
    "errors",
    "objectives_met",
    "job_rank",
    "token_rank",
    "pareto",
    "winner",
    "reason",
    "folders",
  ];
  const rows = ranking.cells.map(({ result, barred, job_rank, token_rank, pareto }) => [
    result.cell.name,
    ...dimensions.map((name) => valueOf(result.cell, name)),
    result.status,
    result.runs.filter(({ status }) => status === "done").length,
    ...CELL_METRIC_IDS.flatMap((id) => {
      const { mean, min, max } = result.metrics[id];
      return repeated ? [mean, min, max] : [mean];
    }),
    result.jobs.ok,
    result.jobs.failed,
    result.errors,
    result.objectives_met,
    job_rank,
    token_rank,
    pareto,
    result === ranking.winner,
    barred,
    result.runs.flatMap(({ folder }) => folder ?? []).join(" "),
  ]);
  return `${[header, ...rows].map((row) => row.map(csvField).join(",")).join("\n")}\n`;
}

export function renderSweepMarkdown(ranking: SweepRanking): string {
  const shown = shownMetrics(ranking);
  const dimensions = dimensionsOf(ranking.cells);
  const names = ranking.cells.some(({ result }) => isNamed(result.cell, dimensions)) ? ["cell"] : [];
  const texts = names.length + dimensions.length;
  const head = [...names, ...dimensions, ...shown.map(metricName), "errors", "rank by jobs", "by tokens", ""];
  const lines = [
    "# Sweep",
    "",
    ranking.winner === null ? "**No winner.**" : `**${markdownText(ranking.winner.cell.name)}** wins.`,
    markdownText(ranking.reason),
  ];
  if (ranking.disagreement !== null) lines.push("", markdownText(ranking.disagreement));
  lines.push(
    "",
    `| ${head.map(markdownText).join(" | ")} |`,
    `|${head.map((_h, i) => (i < texts ? "---" : "--:")).join("|")}|`,
  );
  for (const ranked of byRank(ranking.cells)) {
    const { result } = ranked;
    const row = [
      ...names.map(() => result.cell.name),
      ...dimensions.map((name) => show(valueOf(result.cell, name))),
      ...shown.map((id) => showMetric(id, result.metrics[id].mean)),
      String(result.errors),
      String(ranked.job_rank ?? "–"),
      String(ranked.token_rank ?? "–"),
      noteOf(ranked, ranking),
    ];
    lines.push(`| ${row.map(markdownText).join(" | ")} |`);
  }
  const { x, y, front } = ranking.pareto;
  lines.push(
    "",
    `Pareto front of ${metricName(x)} against ${metricName(y)}: ${front.map(markdownText).join(", ") || "none"}.`,
  );
  return `${lines.join("\n")}\n`;
}

export function renderSweepTerminal(ranking: SweepRanking): string {
  const shown = shownMetrics(ranking);
  const head = ["cell", ...shown.map(metricName), "errors", "jobs#", "tok#", ""];
  const rows = byRank(ranking.cells).map((ranked) => [
    shortText(ranked.result.cell.name, 60),
    ...shown.map((id) => showMetric(id, ranked.result.metrics[id].mean)),
    String(ranked.result.errors),
    String(ranked.job_rank ?? "–"),
    String(ranked.token_rank ?? "–"),
    plainText(noteOf(ranked, ranking)),
  ]);
  const lines = alignColumns([head, ...rows]);
  lines.push(
    "",
    `${ranking.winner === null ? "no winner" : `winner: ${plainText(ranking.winner.cell.name)}`}. ${plainText(ranking.reason)}`,
  );
  if (ranking.disagreement !== null) lines.push(plainText(ranking.disagreement));
  return `${lines.join("\n")}\n`;
}

export function sweepJson(ranking: SweepRanking): JsonObject {
  const value: unknown = {
    reprise_sweep: 1,
    winner: ranking.winner === null ? null : ranking.winner.cell.name,
    reason: ranking.reason,
    rank_by: ranking.rank_by,
    disagreement: ranking.disagreement,
    pareto: ranking.pareto,
    cells: ranking.cells.map(({ result, barred, job_rank, token_rank, pareto }) => ({
      name: result.cell.name,
      knobs: result.cell.knobs,
      load: result.cell.load,
      status: result.status,
      reasons: result.reasons,
      barred,
      job_rank,
      token_rank,
      pareto,
      metrics: result.metrics,
      jobs: result.jobs,
      errors: result.errors,
      sent: result.sent,
      objectives_met: result.objectives_met,
      runs: result.runs.map(({ repeat, status, folder, error, gpus, notes }) => ({
        repeat,
        status,
        folder,
        error,
        gpus,
        notes,
      })),
    })),
  };
  return value as JsonObject;
}

function noteOf({ result, barred, pareto }: RankedCell, ranking: SweepRanking): string {
  if (result === ranking.winner) return "winner";
  if (barred !== null) return shortText(barred, 100);
  return pareto ? "Pareto" : "";
}

function byRank(cells: readonly RankedCell[]): RankedCell[] {
  return cells.toSorted(
    (a, b) =>
      (a.job_rank ?? Infinity) - (b.job_rank ?? Infinity) || a.result.cell.index - b.result.cell.index,
  );
}

/** Columns that nothing was measured for are left out. */
function shownMetrics(ranking: SweepRanking): CellMetric[] {
  const shown = SHOWN.filter((id) => ranking.cells.some(({ result }) => result.metrics[id].mean !== null));
  return shown.includes(ranking.rank_by) || ranking.winner === null ? shown : [ranking.rank_by, ...shown];
}

function dimensionsOf(cells: readonly RankedCell[]): string[] {
  return [
    ...new Set(
      cells.flatMap(({ result }) => [...Object.keys(result.cell.knobs), ...Object.keys(result.cell.load)]),
    ),
  ];
}

/** A cell without a name of its own is called by its values. */
function isNamed(
  { name, knobs, load }: RankedCell["result"]["cell"],
  dimensions: readonly string[],
): boolean {
  return dimensions.some(
    (dimension) => (dimension in knobs || dimension in load) && !name.includes(`${dimension}=`),
  );
}

function valueOf(
  of: { readonly knobs: JsonObject; readonly load: JsonObject },
  name: string,
): JsonValue | undefined {
  return Object.hasOwn(of.knobs, name) ? of.knobs[name] : of.load[name];
}

function show(value: JsonValue | undefined): string {
  if (value === undefined) return "";
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}

/** Quoted where needed. A text that a spreadsheet would run as a formula is kept from that. */
function csvField(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = plainText(typeof value === "string" ? value : JSON.stringify(value));
  const safe = /^\s*[=+@]|^-[^\d-]|^\\[trn]/.test(text) ? `'${text}` : text;
  return /[",]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
