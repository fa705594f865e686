/** Which load the cells of a sweep get: a trace replayed, or a dataset as `bench` sends it. The workload tells by naming a dataset. */
import type { JsonObject } from "../core/json.ts";
import { benchOptions } from "../run/options/bench-options.ts";
import type { OptionTable } from "../run/options/option.ts";
import { replayOptions } from "../run/options/replay-options.ts";

export type CellVerb = "replay" | "bench";

/** Told by the sweep itself for each run: no dimension. */
const OWN = ["base_url", "host", "port", "out", "json", "config", "label", "model", "trace_file", "sim"];

const TABLES: Readonly<Record<CellVerb, OptionTable>> = {
  replay: replayOptions,
  bench: benchOptions as OptionTable,
};

export function verbOf(options: JsonObject): CellVerb {
  return options["dataset_name"] === undefined && options["dataset_path"] === undefined ? "replay" : "bench";
}

export function optionsOf(verb: CellVerb): OptionTable {
  return TABLES[verb];
}

/** Options that a grid may vary without another server. */
export function loadOptionsOf(verb: CellVerb): string[] {
  return Object.keys(TABLES[verb]).filter((key) => !OWN.includes(key));
}

/** Keys that a sweep's file may hold at all. */
export const CELL_OPTION_KEYS: readonly string[] = [
  ...new Set(Object.values(TABLES).flatMap((table) => Object.keys(table))),
];
