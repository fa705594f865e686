/**
 * One configuration file becomes a grid of cells, a server for each, the same work on all, and a recommendation. `sweepConfigFile` is the way in;
 * `runSweep` takes any way of making one run.
 */
export { configJsonSchema } from "./json-schema.ts";
export { parseConfig, readConfig, type RepriseConfig } from "./read-config.ts";
export { rankCells, type SweepRanking } from "./rank-cells.ts";
export { renderSweepCsv, renderSweepMarkdown, renderSweepTerminal, sweepJson } from "./render-sweep.ts";
export { runSweep, type CellTask, type RunOnce, type SweepProgress } from "./run-sweep.ts";
export { sweepConfigFile, type FinishedSweep } from "./sweep-config-file.ts";
