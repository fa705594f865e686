/** A run folder becomes its numbers: at the run's end and for `reprise report`, by the same code from the same bytes. */
import type { JsonObject } from "../core/json.ts";
import {
  analyzeRun,
  parseSummaryOptions,
  readCalibration,
  type RunAnalysis,
  type SummaryFlags,
} from "../metric/index.ts";
import type { Manifest } from "../record/manifest.ts";
import { readRun } from "../record/read-run.ts";

/** Flags of the summary that are not given come from the run's own options, as its manifest has them. */
export async function analyzeFolder(path: string, flags: SummaryFlags): Promise<RunAnalysis> {
  const run = await readRun(path);
  const calibration = run.calibration();
  return analyzeRun(
    {
      manifest: run.manifest,
      jobs: run.jobs(),
      records: run.records(),
      calibration: calibration === null ? null : await readCalibration(calibration),
    },
    parseSummaryOptions({ ...flagsOfManifest(run.manifest), ...withoutAbsent(flags) }),
  );
}

/** The summary's flags as they stand in a manifest's options. */
function flagsOfManifest({ options }: Manifest): SummaryFlags {
  return summaryFlags(options);
}

/** From option keys (flags, YAML, manifest) to the summary's own. */
export function summaryFlags(options: JsonObject): SummaryFlags {
  const list = (value: unknown): string[] | null => (Array.isArray(value) ? value.map(String) : null);
  const { percentiles, goodput, slo, job_budget, max_lateness, gpus } = options;
  return {
    percentiles: Array.isArray(percentiles) ? (percentiles as readonly number[]) : null,
    goodput: list(goodput),
    slo: list(slo),
    jobBudget: typeof job_budget === "string" ? job_budget : null,
    maxLateness: typeof max_lateness === "number" ? max_lateness : null,
    gpus: typeof gpus === "number" ? gpus : null,
  };
}

function withoutAbsent(flags: SummaryFlags): SummaryFlags {
  return Object.fromEntries(
    Object.entries(flags).filter(([, value]) => value !== undefined && value !== null),
  );
}
