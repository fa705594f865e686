/** From a configuration file (and flags that win over it) to a sweep whose every cell is known to be possible. */
import { dirname, resolve } from "node:path";
import { UserError } from "../core/failure.ts";
import { nearestHint } from "../core/nearest.ts";
import type { JsonObject } from "../core/json.ts";
import type { ReplayGiven } from "../run/options/replay-options.ts";
import { checkCells, runsInProcess } from "./engine-spec.ts";
import { expandCells, type Cell } from "./grid.ts";
import { readParameterFile } from "./parameters-json.ts";
import type { TraceWorkload } from "../run/read-workload.ts";
import { readConfig, type RepriseConfig } from "./read-config.ts";
import { checkBench } from "../run/bench-checks.ts";
import { datasetChoice } from "../run/bench-dataset.ts";
import { backendOf } from "../run/http-target.ts";
import type { BenchGiven } from "../run/options/bench-options.ts";
import { checkReplay, readReplayWorkload } from "../run/replay.ts";
import { parseSummaryOptions } from "../metric/index.ts";
import { summaryFlags } from "../run/analyze-run.ts";
import { CELL_OPTION_KEYS, type CellVerb, loadOptionsOf, optionsOf, verbOf } from "./cell-verb.ts";
import { givenOf } from "./replay-cell.ts";
import type { SweepSections } from "./config-schema.ts";

export interface PreparedSweep {
  readonly sections: SweepSections;
  readonly cells: readonly Cell[];
  readonly options: JsonObject;
  /** As given, for {@link replayCell}. */
  readonly flags: ReplayGiven;
  /** What identifies the trace's content. */
  readonly trace_sha256: string;
  /** All requests are there at once in every cell: what is served an hour tells, not how long a job waits. */
  readonly saturated: boolean;
}

/** Flags that the sweep itself looks at: their values look the same in the file. */
const SHARED = ["virtual_time", "gpus", "prompt_seed", "metadata", "label"] as const;

/** Flags win over the file. Everything wrong is a `UserError` with its place in the file, before anything is started. */
export async function prepareSweep(
  path: string,
  flags: ReplayGiven,
  env: NodeJS.ProcessEnv,
): Promise<PreparedSweep> {
  const config = await readConfig(path, CELL_OPTION_KEYS, env);
  const { sweep, where } = config;
  const verb = verbOf(config.options);
  refuseOthers(verb, config, flags);
  const loadOptions = loadOptionsOf(verb);
  const cells =
    typeof sweep.cells === "string"
      ? await readParameterFile(resolve(dirname(path), sweep.cells), loadOptions)
      : sweep.cells;
  const sections: SweepSections = { ...sweep, cells: cells as SweepSections["cells"] };
  const expanded = expandCells(sections, {
    loadOptions,
    hasEngine: sections.engine !== null,
    where,
  });
  if (sections.engine !== null) checkCells(sections.engine, expanded, where);
  const shared = SHARED.flatMap((key) => (flags[key] === undefined ? [] : [[key, flags[key]] as const]));
  const options: JsonObject = { ...config.options, ...(Object.fromEntries(shared) as JsonObject) };
  if (verb === "replay" && flags.trace_file === undefined && options["trace_file"] === undefined)
    throw new UserError(`${path}: which trace? trace is missing`, { hint: "trace: agents.jsonl" });
  if (sections.engine !== null) refuseAddress(config, flags);
  if (sections.cache === "warm" && runsInProcess(sections.engine, options))
    throw new UserError(
      `${where(["cache"])}: the simulator on virtual time begins each run with an empty cache`,
      {
        hint: "leave cache: warm out, or virtual_time",
      },
    );
  const sha256 = await checkRuns({ sections, cells: expanded, options, flags }, config);
  return {
    sections,
    cells: expanded,
    options,
    flags,
    trace_sha256: sha256,
    saturated:
      verb === "bench" && expanded.every(({ load }) => isSaturated({ ...options, ...flags, ...load })),
  };
}

function isSaturated({
  request_rate: rate = "inf",
  ramp_up_strategy: ramp,
  dataset_name: name,
}: JsonObject): boolean {
  const untimed = typeof name === "string" && !["timed_trace", "burstgpt"].includes(name);
  return untimed && ramp === undefined && (rate === "inf" || rate === Infinity);
}

/** Options of the other verb: they would change nothing. */
function refuseOthers(verb: CellVerb, { options, whereOption }: RepriseConfig, flags: ReplayGiven): void {
  const table = optionsOf(verb);
  const [why, hint] =
    verb === "bench"
      ? ([
          "the workload is a dataset, which is sent as bench does: it",
          "leave it, or the dataset, out",
        ] as const)
      : (["a trace is replayed: it", "a workload with dataset_name is sent as bench does"] as const);
  for (const key of Object.keys(options))
    if (!Object.hasOwn(table, key))
      throw new UserError(`${whereOption(key)}: ${why} has no option "${spelled(key)}"`, {
        hint: nearestHint(key, Object.keys(table)) ?? hint,
      });
  for (const key of Object.keys(flags))
    if (!Object.hasOwn(table, key))
      throw new UserError(`--${key.replaceAll("_", "-")}: ${why} has no such option`, { hint });
}

/** As people call it in the file. */
function spelled(option: string): string {
  return option === "trace_file" ? "trace" : option;
}

/** The address is that of the server that the sweep starts. */
function refuseAddress({ options, whereOption }: RepriseConfig, flags: ReplayGiven): void {
  for (const key of ["base_url", "host", "port"] as const) {
    if (flags[key] === undefined && options[key] === undefined) continue;
    const place = flags[key] === undefined ? `${whereOption(key)}: ${key}` : `--${key.replaceAll("_", "-")}`;
    throw new UserError(`${place}: the engine section starts the server, so there is no other to reach`, {
      hint: "engine.host and engine.port say where it listens; without an engine section a running server is used",
    });
  }
}

/** Options, objectives and pacing of every cell, and the trace: all that can be wrong, before the first server starts. */
async function checkRuns(
  { sections, cells, options, flags }: Pick<PreparedSweep, "sections" | "cells" | "options" | "flags">,
  config: RepriseConfig,
): Promise<string> {
  const { engine } = sections;
  const inProcess = runsInProcess(engine, options);
  const verb = verbOf(options);
  let workload: TraceWorkload | null = null;
  const seen = new Set<string>();
  for (const cell of cells) {
    for (const key of Object.keys(cell.load)) {
      if (key in flags)
        throw new UserError(
          `--${key.replaceAll("_", "-")} is a dimension of the sweep: it cannot be a flag, too`,
        );
    }
    const work = JSON.stringify([cell.load, inProcess ? cell.knobs : null]);
    if (seen.has(work)) continue;
    seen.add(work);
    const where = (key: string): string =>
      Object.hasOwn(cell.load, key)
        ? config.where(["grid", key in sections.grid ? key : `load.${key}`])
        : config.whereOption(key);
    const address = engine === null || inProcess ? {} : { base_url: "http://127.0.0.1:1" };
    const task = {
      cell,
      options: { seed: sections.order_seed, ...options, ...cell.load, ...address },
      out: "run",
      in_process: inProcess && engine !== null ? { ...(engine.knobs as JsonObject), ...cell.knobs } : null,
    };
    const given = givenOf(task, flags, where);
    if (verb === "bench") {
      placing(where, flags, () => {
        parseSummaryOptions(summaryFlags(given as JsonObject));
        checkBench(given as BenchGiven, backendOf(given, "openai-chat"));
        datasetChoice(given as BenchGiven);
      });
      continue;
    }
    const trace = given.trace_file as string;
    if (trace === "-")
      throw new UserError(
        `${where("trace_file")}: a sweep reads its trace more than once: it must be a file`,
      );
    workload ??= await readReplayWorkload(trace, given);
    const { jobs } = workload;
    placing(where, flags, () => checkReplay(given, jobs));
  }
  return (workload as TraceWorkload | null)?.sha256 ?? "";
}

function placing(where: (key: string) => string, flags: ReplayGiven, action: () => void): void {
  try {
    action();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw placedOption(error, (key) => (key in flags ? null : where(key)));
  }
}

/** A complaint about `--slo` stands where the file says `slo`, if it was not a flag. */
function placedOption(error: UserError, where: (key: string) => string | null): UserError {
  const flag = /^--([a-z][a-z-]*)/.exec(error.message)?.[1];
  const place = flag === undefined ? null : where(flag.replaceAll("-", "_"));
  if (place === null) return error;
  return new UserError(`${place}: ${error.message}`, {
    ...(error.hint === null ? {} : { hint: error.hint }),
    cause: error,
  });
}
