/** Several runs: which configuration, and why. Ranked by the code that ranks the cells of a sweep. */
import { plainText } from "../core/terminal-text.ts";
import type { Summary } from "../metric/summary.ts";
import { CAUSES } from "../metric/job/causes.ts";
import { CAUSE_TITLES, WAITING, causeShares, hasJobs } from "../report/answer.ts";
import type { Choice } from "../report/html/page-data.ts";
import { formatDurationOf, formatShare } from "../report/quantity.ts";
import { type CellResult, joinCell } from "../sweep/cell-result.ts";
import { metricName, rankCells } from "../sweep/rank-cells.ts";

export interface NamedSummary {
  readonly name: string;
  readonly summary: Summary;
}

/** `same`: all did the same work; else nothing is recommended. */
export function chooseRun(runs: readonly NamedSummary[], same: boolean): Choice {
  const cells = runs.map(asCell);
  const ranking = rankCells(cells, { rankBy: "auto", maxFailureRate: 0 });
  const winner = same ? ranking.winner : null;
  const { x, y } = ranking.pareto;
  const winning = runs.find(({ name }) => name === winner?.cell.name) ?? null;
  return {
    winner: winner?.cell.name ?? null,
    reason: same
      ? plainText(ranking.reason)
      : "These runs did different work, so none of them is recommended over another.",
    because: winning === null ? [] : because(winning, runs),
    disagreement: same && ranking.disagreement !== null ? plainText(ranking.disagreement) : null,
    rank_by: metricName(ranking.rank_by),
    runs: ranking.cells.map(({ result, job_rank, barred, pareto }) => ({
      name: result.cell.name,
      rank: job_rank,
      barred: barred === null ? null : plainText(barred),
      pareto: same && pareto,
      x: result.metrics[x].mean,
      y: result.metrics[y].mean,
    })),
    pareto: { x, y, x_title: `${metricName(x)} (interactivity)`, y_title: `${metricName(y)} (throughput)` },
  };
}

/** A run stands for a cell with one repeat. */
function asCell({ name, summary }: NamedSummary, index: number): CellResult {
  const cell = { index, name, slug: String(index), knobs: {}, load: {}, server: "" };
  return joinCell(
    cell,
    [
      {
        slug: cell.slug,
        repeat: 1,
        status: summary.run.partial || summary.run.interrupted ? "interrupted" : "done",
        folder: null,
        summary,
        error: null,
        gpus: null,
        notes: [],
      },
    ],
    1,
  );
}

/** Where the job time of the winner and of the one farthest behind it goes. */
function because(winner: NamedSummary, runs: readonly NamedSummary[]): string[] {
  const time = ({ summary }: NamedSummary): number | null =>
    hasJobs(summary) ? summary.jobs.job_e2e.mean : summary.requests.response.mean;
  const others = runs
    .filter((run) => run !== winner && time(run) !== null)
    .sort((a, b) => (time(b) ?? 0) - (time(a) ?? 0));
  const other = others[0];
  if (other === undefined) return [];
  const what = hasJobs(winner.summary) ? "job" : "request";
  const lines: string[] = [];
  const waits = [winner, other].map(({ summary }) => waitingShare(summary));
  if (waits[0] != null && waits[1] != null)
    lines.push(
      `With ${plainText(other.name)}, ${formatShare(waits[1])} of a ${what}’s time is waiting in queues; with ${plainText(winner.name)} it is ${formatShare(waits[0])}.`,
    );
  const changed = largestChange(winner.summary, other.summary);
  if (changed !== null)
    lines.push(
      `The largest difference is ${changed.title}: ${formatDurationOf(changed.other)} of a ${what} on average with ${plainText(other.name)}, ${formatDurationOf(changed.winner)} with ${plainText(winner.name)}.`,
    );
  return lines;
}

function waitingShare(summary: Summary): number | null {
  const shares = causeShares(summary);
  return shares === null ? null : WAITING.reduce((sum, cause) => sum + shares[cause], 0);
}

function largestChange(a: Summary, b: Summary): { title: string; winner: number; other: number } | null {
  const changes = CAUSES.flatMap((cause) => {
    const [x, y] = [a.jobs.breakdown_ms[cause], b.jobs.breakdown_ms[cause]];
    return x === null || y === null ? [] : [{ title: CAUSE_TITLES[cause], winner: x, other: y }];
  }).sort((p, q) => Math.abs(q.other - q.winner) - Math.abs(p.other - p.winner));
  const first = changes[0];
  return first === undefined || first.winner === first.other ? null : first;
}
