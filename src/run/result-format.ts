/** Whose result file and table a bench writes where `--result-format` does not say. ADR 9. */
import { METRIC_COLUMNS } from "../report/compat/metric-columns.ts";
import type { BenchGiven } from "./options/bench-options.ts";

/** Metrics that only FastDeploy has. */
const OURS_TOO = new Set(["ttft", "tpot", "itl", "e2el"]);

/** FastDeploy's where something is asked for that only it has: its datasets, metrics, hyperparameter file or name. */
export function resultFormatOf(given: BenchGiven, backend: string): "vllm" | "fastdeploy" {
  if (given.result_format !== undefined) return given.result_format;
  const itsMetrics = METRIC_COLUMNS.some(
    ({ name }) => !OURS_TOO.has(name) && given.percentile_metrics?.includes(name) === true,
  );
  const its =
    itsMetrics ||
    backend.startsWith("fastdeploy") ||
    given.hyperparameter_path !== undefined ||
    given.dataset_name === "EB" ||
    given.dataset_name === "EBChat";
  return its ? "fastdeploy" : "vllm";
}
