/** From a configuration file (and flags that win over it) to a sweep whose every cell is known to be possible. */
import { dirname, resolve } from "node:path";
import { UserError } from "../core/failure.ts";
import type { JsonObject } from "../core/json.ts";
import { givenFromObject } from "../run/options/option.ts";
import { replayOptions, type ReplayGiven } from "../run/options/replay-options.ts";
import { checkCells } from "./engine-spec.ts";
import { expandCells, type Cell } from "./grid.ts";
import { readParameterFile } from "./parameters-json.ts";
import { readConfig } from "./read-config.ts";
import { LOAD_OPTIONS } from "./replay-cell.ts";
import type { SweepSections } from "./config-schema.ts";

export interface PreparedSweep {
  readonly sections: SweepSections;
  readonly cells: readonly Cell[];
  readonly options: JsonObject;
  /** As given, for {@link replayCell}. */
  readonly flags: ReplayGiven;
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
  if ((flags.trace_file ?? options["trace_file"]) === undefined)
    throw new UserError(`${path}: which trace? trace is missing`, { hint: "trace: agents.jsonl" });
  for (const cell of expanded) {
    for (const key of Object.keys(cell.load)) {
      if (key in flags)
        throw new UserError(
          `--${key.replaceAll("_", "-")} is a dimension of the sweep: it cannot be a flag, too`,
        );
    }
    // Values of every cell's load are checked before the first server starts.
    givenFromObject(replayOptions, { ...config.options, ...cell.load }, path);
  }
  return { sections, cells: expanded, options, flags };
}
