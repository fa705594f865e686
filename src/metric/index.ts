/**
 * Every number of a run, computed from its log. `summarize.ts` is the way in; `request/` and `job/` hold one metric a file
 * (file name = id = key in `summary.json`), `run/` the numbers of the whole run.
 */
export { type Calibration, readCalibration } from "./calibration.ts";
export { exitCodeOf, type ExitOptions } from "./exit-code.ts";
export { type JobBudget, parseJobBudget } from "./job/job_budget.ts";
export { type GoodputObjective, parseGoodput } from "./run/goodput.ts";
export { judgeSlo, parseSlo, type Slo } from "./slo.ts";
export {
  analyzeRun,
  type RunAnalysis,
  type RunInput,
  summarizeRun,
  type SummaryOptions,
} from "./summarize.ts";
export { parsePercentiles, parseSummaryOptions, type SummaryFlags } from "./summary-options.ts";
export type { Summary } from "./summary.ts";
