/** One run as the page shows it. */
import type { JsonObject } from "../../core/json.ts";
import type { EngineSample } from "../../record/engine-rows.ts";
import type { RequestRecord } from "../../record/request-record.ts";
import { type Histogram, columnHistogram } from "../../metric/histogram.ts";
import { CAUSES } from "../../metric/job/causes.ts";
import { JOB_METRIC_IDS } from "../../metric/job/index.ts";
import { OK } from "../../metric/request-table.ts";
import { REQUEST_METRIC_IDS } from "../../metric/request/index.ts";
import { type ByPromptLength, by_prompt_length } from "../../metric/run/by_prompt_length.ts";
import { run_series } from "../../metric/run/series.ts";
import { inClip } from "../../metric/clip.ts";
import type { RunAnalysis } from "../../metric/summarize.ts";
import { CAUSE_TITLES, answerLines, causeShares, hasJobs } from "../answer.ts";
import { sections } from "../facts.ts";
import {
  LOW_SAMPLE_NOTE,
  type MetricRow,
  hasLowSample,
  jobRows,
  metricCells,
  percentileKeys,
  requestRows,
} from "../metric-rows.ts";
import { splitNote } from "../terminal.ts";
import { type DetailLimits, packDetail } from "./detail.ts";
import { engineSeries } from "./engine-series.ts";
import { fidelityLine, headline, keyNumbers } from "./first-screen.ts";
import type { Band, CauseRow, MetricTable, Option, RunPage } from "./page-data.ts";

export interface RunPageInput {
  readonly name: string;
  readonly folder: string;
  readonly analysis: RunAnalysis;
  readonly records: () => AsyncIterable<readonly RequestRecord[]>;
  readonly engineRows: () => AsyncIterable<readonly EngineSample[]>;
  readonly bands: Readonly<Record<string, Band>>;
  readonly limits: DetailLimits;
}

export interface PackedRun {
  readonly page: RunPage;
  /** Base64 of the packed columns. */
  readonly pieces: readonly string[];
}

export async function packRun(input: RunPageInput): Promise<PackedRun> {
  const { analysis } = input;
  const { summary, requests, jobs, manifest } = analysis;
  const detail = await packDetail(analysis, input.records, input.limits);
  return {
    pieces: detail.pieces,
    page: {
      name: input.name,
      folder: input.folder,
      headline: headline(summary),
      key_numbers: keyNumbers(summary),
      answer: answerLines(summary),
      fidelity: fidelityLine(summary),
      sections: sections(summary),
      tables: [
        ...(hasJobs(summary) ? [metricTable("Jobs", jobRows(summary))] : []),
        metricTable("Requests", requestRows(summary)),
      ],
      summary,
      budget_ms: oneBudget(analysis),
      causes: causeRows(analysis),
      split_note: summary.jobs.engine_split.basis === null ? null : splitNote(summary),
      histograms: histograms(analysis),
      bands: input.bands,
      by_prompt_length: byLength(analysis),
      series: run_series(requests, jobs),
      engine: await engineSeries(input.engineRows()),
      failures: detail.failures,
      options: flatten(manifest.options),
      facts: {
        id: manifest.id,
        command: manifest.command,
        started_at: manifest.started_at,
        host: { ...manifest.host },
        seeds: { ...manifest.seeds },
        server: manifest.target.server,
        tokenizer: manifest.tokenizer === null ? null : { ...manifest.tokenizer },
        metadata: { ...manifest.metadata },
        plan: { ...manifest.plan } as unknown as JsonObject,
      },
      detail: detail.detail,
      left_out: detail.left_out,
    },
  };
}

function byLength({ requests, clip }: RunAnalysis): Record<string, ByPromptLength> {
  const columns = {
    ttft: requests.metrics.ttft,
    tpot: requests.metrics.tpot,
    itl: requests.itlMean,
    e2e: requests.metrics.e2e,
  };
  return Object.fromEntries(
    Object.entries(columns).flatMap(([id, column]) => {
      const found = by_prompt_length(requests, clip, column);
      return found === null ? [] : [[id, found] as const];
    }),
  );
}

function metricTable(title: string, rows: readonly MetricRow[]): MetricTable {
  const keys = percentileKeys(rows);
  return {
    title,
    head: [title, "n", "mean", ...keys, "max"],
    rows: rows.map((row) => ({ id: row.id, cells: metricCells(row, keys) })),
    note: hasLowSample(rows) ? LOW_SAMPLE_NOTE : null,
  };
}

function causeRows({ summary }: RunAnalysis): CauseRow[] {
  const shares = causeShares(summary);
  if (shares === null) return [];
  return CAUSES.filter((cause) => shares[cause] !== 0).map((cause) => ({
    cause,
    title: CAUSE_TITLES[cause],
    mean_ms: summary.jobs.breakdown_ms[cause] ?? 0,
    share: shares[cause],
    dominated: summary.jobs.dominated_by[cause] ?? 0,
  }));
}

/** The same rows as the distributions of the summary: ok and intended in the window; lateness over all that was sent. */
function histograms({ requests, jobs, clip }: RunAnalysis): Record<string, Histogram> {
  const { intended } = requests.columns;
  const ok = (row: number): boolean => requests.status[row] === OK && inClip(intended[row] as number, clip);
  const found: [string, Histogram | null][] = [
    ...REQUEST_METRIC_IDS.map(
      (id) => [id, columnHistogram(requests.metrics[id], ok)] as [string, Histogram | null],
    ),
    ["itl", requests.gaps.itlHistogram()],
    ...JOB_METRIC_IDS.map(
      (id) =>
        [id, columnHistogram(jobs.metrics[id], (job) => inClip(jobs.start[job] as number, clip))] as [
          string,
          Histogram | null,
        ],
    ),
  ];
  return Object.fromEntries(found.filter((entry): entry is [string, Histogram] => entry[1] !== null));
}

/** Nested options as dotted keys. */
function flatten(options: JsonObject, path = ""): Option[] {
  return Object.entries(options).flatMap(([name, value]): Option[] => {
    const key = path === "" ? name : `${path}.${name}`;
    if (value === undefined) return [];
    if (value !== null && typeof value === "object" && !Array.isArray(value))
      return flatten(value as JsonObject, key);
    return [{ key, value }];
  });
}

function oneBudget({ jobs }: RunAnalysis): number | null {
  let found: number | null = null;
  for (const budget of jobs.budget) {
    if (Number.isNaN(budget) || budget === found) continue;
    if (found !== null) return null;
    found = budget;
  }
  return found;
}
