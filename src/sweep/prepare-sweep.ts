/** From a configuration file (and flags that win over it) to a sweep whose every cell is known to be possible. */
import { dirname, resolve } from "node:path";
import { UserError } from "../core/failure.ts";
import type { JsonObject } from "../core/json.ts";
import { givenFromObject } from "../run/options/option.ts";
import { replayOptions } from "../run/options/replay-options.ts";
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
}

/** `flags` are options of replay by their keys. Everything wrong is a `UserError` with its place in the file. */
export async function prepareSweep(
  path: string,
  flags: JsonObject,
  env: NodeJS.ProcessEnv,
): Promise<PreparedSweep> {
  const config = await readConfig(path, Object.keys(replayOptions), env);
  const { sweep } = config;
  const cells =
    typeof sweep.cells === "string"
      ? await readParameterFile(resolve(dirname(path), sweep.cells), LOAD_OPTIONS)
      : sweep.cells;
  const sections: SweepSections = { ...sweep, cells: cells as SweepSections["cells"] };
  const expanded = expandCells(sections, {
    loadOptions: LOAD_OPTIONS,
    hasEngine: sections.engine !== null,
    where: config.where,
  });
  if (sections.engine !== null) checkCells(sections.engine, expanded, config.where);
  const options: JsonObject = { ...config.options, ...flags };
  if (options["trace_file"] === undefined)
    throw new UserError(`${path}: which trace? trace is missing`, { hint: "trace: agents.jsonl" });
  for (const cell of expanded) {
    // Values of every cell's load are checked before the first server starts.
    givenFromObject(replayOptions, { ...config.options, ...cell.load }, path);
  }
  return { sections, cells: expanded, options };
}
