/**
 * Which configuration? The winner among the cells that meet the objectives, with the reason; the ranking a token-level benchmark
 * would have given, where it differs; and the Pareto front of jobs/h/user against jobs/h/GPU.
 */
import { formatDuration } from "../core/duration.ts";
import type { CellMetric, CellResult } from "./cell-result.ts";
import type { SweepSections } from "./config-schema.ts";

export interface RankedCell {
  readonly result: CellResult;
  /** Why it cannot win; `null` = it can. */
  readonly barred: string | null;
  /** From 1, among cells that can win; `null` for others. Equal values share a rank. */
  readonly job_rank: number | null;
  readonly token_rank: number | null;
  readonly pareto: boolean;
}

export interface SweepRanking {
  readonly cells: readonly RankedCell[];
  readonly rank_by: CellMetric;
  readonly winner: CellResult | null;
  /** One or two sentences for people. */
  readonly reason: string;
  /** What picking by tokens/s/user would have cost; `null` where both agree. */
  readonly disagreement: string | null;
  readonly pareto: { readonly x: CellMetric; readonly y: CellMetric; readonly front: readonly string[] };
}

const HIGHER: readonly CellMetric[] = [
  "jobs_per_hour",
  "steady_jobs_per_hour",
  "jobs_in_budget_per_hour",
  "jobs_per_hour_per_user",
  "jobs_per_hour_per_gpu",
  "output_tokens_per_s",
  "output_tokens_per_s_per_user",
];
const TOKEN_METRIC: CellMetric = "output_tokens_per_s_per_user";
const RANK_METRICS: Record<Exclude<SweepSections["rank_by"], "auto">, CellMetric> = {
  jobs_per_hour: "jobs_per_hour",
  jobs_per_hour_per_user: "jobs_per_hour_per_user",
  mean_job_e2e: "job_e2e_mean_ms",
  p99_job_e2e: "job_e2e_p99_ms",
  output_tokens_per_s: "output_tokens_per_s",
};
/** Shares of the winner's value by which the next may trail and still count as equal, where repeats do not tell better. */
const CLOSE = 0.02;

export interface RankOptions {
  readonly rankBy: SweepSections["rank_by"];
  /** Share of failed requests that a cell may have and still win. */
  readonly maxFailureRate: number;
}

/** Why a cell is barred that measured Reprise. */
const GENERATOR = "the load generator was the limit";

export function rankCells(results: readonly CellResult[], options: RankOptions): SweepRanking {
  const rankBy = options.rankBy === "auto" ? automatic(results) : RANK_METRICS[options.rankBy];
  const barred = results.map((result) => barredBecause(result, rankBy, options));
  const able = results.filter((_result, index) => barred[index] === null);
  const jobRanks = ranks(able, rankBy);
  const tokenRanks = ranks(able, TOKEN_METRIC);
  const perGpu = able.length > 0 && able.every(({ metrics }) => metrics.jobs_per_hour_per_gpu.mean !== null);
  const y: CellMetric = perGpu ? "jobs_per_hour_per_gpu" : "jobs_per_hour";
  const front = paretoFront(able, "jobs_per_hour_per_user", y);
  const ordered = able.toSorted((a, b) => (jobRanks.get(a) ?? Infinity) - (jobRanks.get(b) ?? Infinity));
  const winner = ordered[0] ?? null;
  return {
    cells: results.map((result, index) => ({
      result,
      barred: barred[index] ?? null,
      job_rank: jobRanks.get(result) ?? null,
      token_rank: tokenRanks.get(result) ?? null,
      pareto: front.includes(result),
    })),
    rank_by: rankBy,
    winner,
    reason: winner === null ? noWinner(results, barred) : whyWinner(ordered, results, rankBy),
    disagreement: winner === null ? null : disagreement(winner, able, tokenRanks, rankBy),
    pareto: { x: "jobs_per_hour_per_user", y, front: front.map(({ cell }) => cell.name) },
  };
}

/** Closed runs are limited by the server: throughput tells. At recorded times the load is given: job time tells. */
function automatic(results: readonly CellResult[]): CellMetric {
  const pacings = new Set(
    results.flatMap(({ runs }) => runs.flatMap(({ summary }) => summary?.run.pacing ?? [])),
  );
  if (pacings.size !== 1 || !pacings.has("closed")) return "job_e2e_mean_ms";
  const done = results.filter(({ status }) => status === "done");
  const measured = (metric: CellMetric): boolean =>
    done.length > 0 && done.every(({ metrics }) => metrics[metric].mean !== null);
  // With other numbers of GPUs, throughput is worth what it takes.
  const gpus = new Set(done.flatMap(({ runs }) => runs.map((run) => run.gpus)));
  if (gpus.size > 1 && measured("jobs_per_hour_per_gpu")) return "jobs_per_hour_per_gpu";
  if (measured("jobs_in_budget_per_hour")) return "jobs_in_budget_per_hour";
  return "jobs_per_hour";
}

function barredBecause(
  result: CellResult,
  rankBy: CellMetric,
  { maxFailureRate }: RankOptions,
): string | null {
  if (result.status !== "done")
    return result.status === "failed" ? (result.reasons[0] ?? "failed") : result.status;
  const verdicts = result.runs.map(({ summary }) => summary?.validity.verdict ?? "degraded");
  if (verdicts.includes("degraded")) return "degraded";
  if (verdicts.includes("client-limited")) return GENERATOR;
  if (result.jobs.ok === 0) return "no job succeeded";
  if (result.errors > maxFailureRate * result.sent)
    return `${result.errors} of ${result.sent} requests failed`;
  if (result.objectives_met === false) return "misses an objective";
  if (result.metrics[rankBy].mean === null) return `${rankBy} was not measured`;
  return null;
}

function better(metric: CellMetric, a: number, b: number): number {
  return HIGHER.includes(metric) ? b - a : a - b;
}

function ranks(results: readonly CellResult[], metric: CellMetric): Map<CellResult, number> {
  const measured = results.filter(({ metrics }) => metrics[metric].mean !== null);
  const value = (result: CellResult): number => result.metrics[metric].mean as number;
  return new Map(
    measured.map((result) => [
      result,
      1 + measured.filter((other) => better(metric, value(other), value(result)) < 0).length,
    ]),
  );
}

function paretoFront(results: readonly CellResult[], x: CellMetric, y: CellMetric): CellResult[] {
  const points = results.flatMap((result) => {
    const [px, py] = [result.metrics[x].mean, result.metrics[y].mean];
    return px === null || py === null ? [] : [{ result, px, py }];
  });
  return points
    .filter((p) => !points.some((q) => q.px >= p.px && q.py >= p.py && (q.px > p.px || q.py > p.py)))
    .toSorted((a, b) => a.px - b.px)
    .map(({ result }) => result);
}

function noWinner(results: readonly CellResult[], barred: readonly (string | null)[]): string {
  const reasons = new Map<string, number>();
  for (const reason of barred) if (reason !== null) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const list = [...reasons].map(([reason, count]) => `${count} × ${reason}`).join("; ");
  const advice = reasons.has(GENERATOR)
    ? ` What limited it stands in each run's verdict: a quieter machine, more --lanes or a higher --max-lateness may help.`
    : "";
  return `None of the ${results.length} configurations can be recommended: ${list}.${advice}`;
}

function whyWinner(
  ordered: readonly CellResult[],
  results: readonly CellResult[],
  metric: CellMetric,
): string {
  const [winner, next] = ordered as [CellResult, CellResult | undefined];
  const value = winner.metrics[metric].mean as number;
  const withObjectives = winner.objectives_met === true ? " that meet the objectives" : "";
  const best = `${HIGHER.includes(metric) ? "highest" : "lowest"} ${metricName(metric)} (${showMetric(metric, value)})`;
  if (next === undefined) {
    const only =
      results.length === 1
        ? "It is the only configuration."
        : `The other ${results.length - 1} cannot be recommended.`;
    return `${best}. ${only}`;
  }
  const other = next.metrics[metric].mean as number;
  const behind = Math.abs(other / value - 1);
  const overlap = HIGHER.includes(metric)
    ? (next.metrics[metric].max as number) >= (winner.metrics[metric].min as number)
    : (next.metrics[metric].min as number) <= (winner.metrics[metric].max as number);
  const repeated = winner.metrics[metric].n > 1 && next.metrics[metric].n > 1;
  const unclear = repeated ? overlap : behind < CLOSE;
  const equal =
    ordered.filter((each) => Math.abs((each.metrics[metric].mean as number) / value - 1) < CLOSE).length - 2;
  const others = equal > 0 ? ` (${equal} more within ${CLOSE * 100} %)` : "";
  const tail = unclear
    ? `, but not clearly: ${next.cell.name} is ${(behind * 100).toFixed(1)} % behind${repeated ? ", within the range of the repeats" : ""}${others}`
    : `; next is ${next.cell.name}, ${(behind * 100).toFixed(1)} % behind`;
  return `${best} of the ${ordered.length} configurations${withObjectives}${tail}.`;
}

function disagreement(
  winner: CellResult,
  able: readonly CellResult[],
  tokenRanks: ReadonlyMap<CellResult, number>,
  metric: CellMetric,
): string | null {
  const tokenWinner = able.find((result) => tokenRanks.get(result) === 1);
  if (tokenWinner === undefined || tokenRanks.get(winner) === 1) return null;
  const [job, token] = [winner.metrics[metric].mean as number, tokenWinner.metrics[metric].mean as number];
  return (
    `Tokens/s/user would have picked ${tokenWinner.cell.name} (${showMetric(TOKEN_METRIC, tokenWinner.metrics[TOKEN_METRIC].mean)} ` +
    `against ${showMetric(TOKEN_METRIC, winner.metrics[TOKEN_METRIC].mean)}), whose ${metricName(metric)} is ` +
    `${showMetric(metric, token)} against ${showMetric(metric, job)}.`
  );
}

export function metricName(metric: CellMetric): string {
  return metric.replace(/_ms$/, "").replaceAll("_per_", "/").replaceAll("_", " ");
}

export function showMetric(metric: CellMetric, value: number | null): string {
  if (value === null) return "–";
  if (metric.endsWith("_ms")) return formatDuration(value);
  if (metric.endsWith("rate")) return `${(value * 100).toFixed(1)} %`;
  return value >= 100 ? value.toFixed(0) : value.toFixed(2);
}
