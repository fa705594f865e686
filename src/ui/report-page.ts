/** Run folders in, one HTML page out. `reprise report`, the demo and the local server all come through here. */
import { basename, resolve } from "node:path";
import { compareRuns, quantileBand, samplesOf, type RunSamples } from "../compare/index.ts";
import { findConcerns } from "../compare/comparability.ts";
import { UserError } from "../core/failure.ts";
import type { SummaryFlags } from "../metric/index.ts";
import type { Summary } from "../metric/summary.ts";
import { readEngineRows } from "../record/engine-rows.ts";
import { readRun } from "../record/read-run.ts";
import { DETAIL_LIMITS } from "../report/html/detail.ts";
import type { Band, Pair } from "../report/html/page-data.ts";
import { renderPage } from "../report/html/render-page.ts";
import { type PackedRun, packRun } from "../report/html/run-page.ts";
import { analyzeFolder } from "../run/analyze-run.ts";
import { chooseRun } from "./choice.ts";

export interface ReportPageRequest {
  readonly folders: readonly string[];
  readonly flags: SummaryFlags;
  /** Path of the list of runs, where a server shows the page. */
  readonly home?: string | null;
}

/** Metrics whose distributions are laid over each other, with a band. */
const OVERLAID = ["job_e2e", "ttft", "tpot", "e2e", "queueing"] as const;
const PERCENTILES = [1, 2, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95, 98, 99];
const MOST_CHANGES = 50;

export async function* reportPage(request: ReportPageRequest): AsyncGenerator<string> {
  const { folders, flags, home = null } = request;
  const share = 1 / Math.max(1, folders.length);
  const limits = {
    jobs: Math.floor(DETAIL_LIMITS.jobs * share),
    turns: Math.floor(DETAIL_LIMITS.turns * share),
    records: Math.floor(DETAIL_LIMITS.records * share),
  };
  const packed: PackedRun[] = [];
  const samples: RunSamples[] = [];
  const summaries: Summary[] = [];
  const labels = await Promise.all(folders.map(async (folder) => (await readRun(folder)).manifest.label));
  const names = namesOf(folders, labels);
  for (const [index, folder] of folders.entries()) {
    const run = await readRun(folder);
    const analysis = await analyzeFolder(folder, flags);
    const name = names[index] as string;
    const sample = folders.length > 1 ? samplesOf(analysis, folder, name) : null;
    packed.push(
      await packRun({
        name,
        folder,
        analysis,
        records: () => run.records(),
        engineRows: () => readEngineRows(run.folder),
        bands: sample === null ? {} : bands(sample),
        limits,
      }),
    );
    summaries.push(analysis.summary);
    if (sample !== null) samples.push(sample);
  }
  const pairs = samples.slice(1).map((_other, at) => pairOf(samples, at + 1));
  const choice =
    folders.length < 2
      ? null
      : chooseRun(
          summaries.map((summary, at) => ({ name: names[at] as string, summary })),
          sameWork(samples),
        );
  yield* renderPage({ runs: packed, choice, pairs, home });
}

function bands({ metrics }: RunSamples): Record<string, Band> {
  return Object.fromEntries(
    OVERLAID.flatMap((id) => {
      const column = metrics[id];
      const band =
        column === undefined || column.value.length === 0 ? null : quantileBand(column, PERCENTILES);
      return band === null ? [] : [[id, band] as const];
    }),
  );
}

/** Whether all runs that have jobs did the same work; one without jobs cannot win anyway. */
function sameWork(samples: readonly RunSamples[]): boolean {
  const [first, ...others] = samples.filter(({ job_ids }) => job_ids.length > 0);
  if (first === undefined) return true;
  const known = new Set(first.job_ids);
  return others.every(({ identity, job_ids }) =>
    findConcerns(first.identity, identity, job_ids.filter((id) => known.has(id)).length).every(
      ({ severity }) => severity !== "refuse",
    ),
  );
}

function pairOf(samples: readonly RunSamples[], b: number): Pair {
  const none = {
    a: 0,
    b,
    paired_jobs: 0,
    concerns: [],
    rows: [],
    changes: [],
    status_changes: [],
    status_changes_total: 0,
  };
  try {
    const comparison = compareRuns(samples[0] as RunSamples, samples[b] as RunSamples);
    return {
      ...none,
      refused: null,
      paired_jobs: comparison.paired_jobs,
      concerns: comparison.concerns,
      rows: comparison.rows.map(({ statistic, a, b: value, ratio, interval, verdict }) => ({
        text: statistic.text,
        metric: statistic.metric,
        a,
        b: value,
        ratio,
        low: interval?.low ?? null,
        high: interval?.high ?? null,
        verdict,
      })),
      changes: [...comparison.option_changes, ...comparison.server_changes].slice(0, MOST_CHANGES),
      status_changes: comparison.status_changes.slice(0, MOST_CHANGES),
      status_changes_total: comparison.status_changes.length,
    };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { ...none, refused: error.message };
  }
}

/** Each run's label where all have one of their own; else the folder's name; else its path. */
export function namesOf(folders: readonly string[], labels: readonly (string | null)[]): readonly string[] {
  const base = folders.map((folder) => basename(resolve(folder)));
  const distinct = (words: readonly (string | null)[]): words is readonly string[] =>
    !words.includes(null) && new Set(words).size === words.length;
  const found = [labels, base, folders].find(distinct);
  // The same folder twice is still two columns.
  return found ?? folders.map((folder, at) => `${folder} (${at + 1})`);
}
