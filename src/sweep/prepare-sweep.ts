/** From a configuration file (and flags that win over it) to a sweep whose every cell is known to be possible. */
import { dirname, resolve } from "node:path";
import { UserError } from "../core/failure.ts";
import type { JsonObject } from "../core/json.ts";
import { replayOptions, type ReplayGiven } from "../run/options/replay-options.ts";
import { checkCells, runsInProcess } from "./engine-spec.ts";
import { expandCells, type Cell } from "./grid.ts";
import { readParameterFile } from "./parameters-json.ts";
import type { TraceWorkload } from "../run/read-workload.ts";
import { readConfig, type RepriseConfig } from "./read-config.ts";
import { checkReplay, readReplayWorkload } from "../run/replay.ts";
import { givenOf, LOAD_OPTIONS } from "./replay-cell.ts";
import type { SweepSections } from "./config-schema.ts";

export interface PreparedSweep {
  readonly sections: SweepSections;
  readonly cells: readonly Cell[];
  readonly options: JsonObject;
  /** As given, for {@link replayCell}. */
  readonly flags: ReplayGiven;
  /** What identifies the trace's content. */
  readonly trace_sha256: string;
}

/** Flags that the sweep itself looks at: their values look the same in the file. */
const SHARED = ["virtual_time", "gpus", "prompt_seed", "metadata", "label"] as const;

/** Flags win over the file. Everything wrong is a `UserError` with its place in the file, before anything is started. */
export async function prepareSweep(
  path: string,
  flags: ReplayGiven,
  env: NodeJS.ProcessEnv,
): Promise<PreparedSweep> {
  const config = await readConfig(path, Object.keys(replayOptions), env);
  const { sweep, where } = config;
  const cells =
    typeof sweep.cells === "string"
      ? await readParameterFile(resolve(dirname(path), sweep.cells), LOAD_OPTIONS)
      : sweep.cells;
  const sections: SweepSections = { ...sweep, cells: cells as SweepSections["cells"] };
  const expanded = expandCells(sections, {
    loadOptions: LOAD_OPTIONS,
    hasEngine: sections.engine !== null,
    where,
  });
  if (sections.engine !== null) checkCells(sections.engine, expanded, where);
  const shared = SHARED.flatMap((key) => (flags[key] === undefined ? [] : [[key, flags[key]] as const]));
  const options: JsonObject = { ...config.options, ...(Object.fromEntries(shared) as JsonObject) };
  if (flags.trace_file === undefined && options["trace_file"] === undefined)
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
  return { sections, cells: expanded, options, flags, trace_sha256: sha256 };
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
  { sections, cells, options, flags }: Omit<PreparedSweep, "trace_sha256">,
  config: RepriseConfig,
): Promise<string> {
  const { engine } = sections;
  const inProcess = runsInProcess(engine, options);
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
    const trace = given.trace_file as string;
    if (trace === "-")
      throw new UserError(
        `${where("trace_file")}: a sweep reads its trace more than once: it must be a file`,
      );
    workload ??= await readReplayWorkload(trace, given);
    try {
      checkReplay(given, workload.jobs);
    } catch (error) {
      throw error instanceof UserError
        ? placedOption(error, (key) => (key in flags ? null : where(key)))
        : error;
    }
  }
  return (workload as TraceWorkload | null)?.sha256 ?? "";
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
