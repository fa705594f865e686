/**
 * Compares runs of the same work: paired by job, with intervals that resample jobs; gates decide on those. A run comes in as {@link RunSamples}
 * (`samplesOf` makes them of an analysed run), a {@link Comparison} goes out, and renderers show it.
 */
export {
  compareRuns,
  DEFAULT_STATISTICS,
  repeatGroups,
  type Comparison,
  type StatisticRow,
} from "./compare-runs.ts";
export { judgeGates, parseGate, type Gate, type GateVerdict } from "./gate.ts";
export { comparisonJson, renderComparisonMarkdown, renderComparisonTerminal } from "./render-comparison.ts";
export type { RunSamples } from "./run-samples.ts";
export { samplesOf } from "./samples-of.ts";
export { quantileBand, type QuantileBand } from "./quantile-band.ts";
export { parseStatistic } from "./statistic.ts";
