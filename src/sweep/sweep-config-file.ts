/** Runs the sweep of a configuration file and writes its comparison: everything between the command line and the runs. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../core/json.ts";
import { secrets } from "../core/secret.ts";
import { optionsForManifest } from "../run/options/manifest-options.ts";
import type { ReplayGiven } from "../run/options/replay-options.ts";
import { benchResultOptions } from "../run/options/result-options.ts";
import type { RunEnvironment } from "../run/run-environment.ts";
import type { HttpCall } from "../server/http-call.ts";
import { prepareSweep } from "./prepare-sweep.ts";
import { rankCells, type SweepRanking } from "./rank-cells.ts";
import { renderSweepCsv, renderSweepMarkdown, sweepJson } from "./render-sweep.ts";
import { replayCell } from "./replay-cell.ts";
import { runSweep, type SweepProgress } from "./run-sweep.ts";

/** Of the file's options those that only a single run heeds. */
const RESULT_KEYS = Object.keys(benchResultOptions).filter((key) => key !== "save_detailed");

export interface SweepFileRequest {
  readonly path: string;
  /** Options of replay given as flags. `out` is the folder of the sweep. */
  readonly flags: ReplayGiven;
  readonly out: string;
}

export interface FinishedSweep {
  readonly folder: string;
  readonly ranking: SweepRanking;
  readonly interrupted: boolean;
  readonly resumed: number;
  /** Cells with at least one failed run. */
  readonly failed: number;
  /** No run of any cell ever reached a server. */
  readonly unreachable: boolean;
}

/** `comparison.csv`, `.md` and `.json` are written after every run, so that an end by force leaves the latest. */
export async function sweepConfigFile(
  request: SweepFileRequest,
  env: RunEnvironment,
  call: HttpCall,
  onProgress?: (progress: SweepProgress) => void,
): Promise<FinishedSweep> {
  const { out: _out, json: _json, quiet: _quiet, ...flags } = request.flags;
  const prepared = await prepareSweep(request.path, flags, env.env);
  const { sections } = prepared;
  const unused = RESULT_KEYS.filter((key) => prepared.options[key] !== undefined);
  if (unused.length > 0)
    env.warn(
      `a sweep writes no result files of other tools: ${unused.join(", ")} not used (reprise report RUN --format vllm)`,
    );
  const rankBy = sections.rank_by === "auto" && prepared.saturated ? "jobs_per_hour" : sections.rank_by;
  const rate = flags.max_failure_rate ?? Number(prepared.options["max_failure_rate"] ?? 0);
  const outcome = await runSweep(
    { ...prepared, flags: optionsForManifest(flags as JsonObject), out: request.out },
    {
      clock: env.clock,
      call,
      runOnce: replayCell(env, flags),
      warn: (text) => env.warn(text),
      onInterrupt: (handler) => env.onInterrupt(handler),
      ...(onProgress === undefined ? {} : { onProgress }),
      onResults: (results) =>
        writeComparison(request.out, rankCells(results, { rankBy, maxFailureRate: rate })),
    },
  );
  const ranking = rankCells(outcome.results, { rankBy, maxFailureRate: rate });
  writeComparison(request.out, ranking);
  return {
    folder: request.out,
    ranking,
    interrupted: outcome.interrupted,
    resumed: outcome.resumed,
    unreachable:
      outcome.results.some(({ runs }) => runs.length > 0) &&
      outcome.results.every(({ runs }) =>
        runs.every(({ status, folder }) => status === "failed" && folder === null),
      ),
    failed: outcome.results.filter(({ status }) => status === "failed").length,
  };
}

function writeComparison(folder: string, ranking: SweepRanking): void {
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), secrets.redact(text));
  write("comparison.csv", renderSweepCsv(ranking));
  write("comparison.md", renderSweepMarkdown(ranking));
  write("comparison.json", `${JSON.stringify(sweepJson(ranking), null, 2)}\n`);
}
