/** The result file of the vLLM trace replayer, from the log. */
import type { JsonValue } from "../../core/json.ts";
import type { ReportFormat, ReportInput } from "../report-format.ts";
import { renderReplayerTable } from "./printed-table.ts";
import { resultFormat } from "./result-format.ts";
import { resultSettings } from "./result-settings.ts";
import { sampleStatistics } from "./sample-statistics.ts";
import { detailsOf, perSecond } from "./serving-result.ts";
import { vllmServedRun } from "./vllm.ts";

export const traceReplayer: ReportFormat = resultFormat({
  name: "trace-replayer",
  tool: "the vLLM trace replayer",
  result: replayerResult,
  table: async (input) => renderReplayerTable(await vllmServedRun(input, false)),
});

const STATISTICS = [
  ["ttft", "ttft"],
  ["tpot", "tpot"],
  ["itl", "itl"],
  ["e2el", "latency"],
] as const;

/** One object; its arrays have an entry a query, in the trace's order, whatever `--save-detailed` says. */
export async function replayerResult(input: ReportInput): Promise<Record<string, JsonValue>> {
  const { manifest } = input.analysis;
  const { options } = manifest;
  const settings = resultSettings(manifest, input.options);
  const served = await vllmServedRun(input, true);
  const result: Record<string, JsonValue> = {
    date: settings.date,
    model_id: settings.model,
    tokenizer_id: settings.tokenizer,
    best_of: options["best_of"] ?? 1,
    use_beam_search: options["use_beam_search"] ?? false,
    max_requests: options["max_requests"] ?? -1,
    ...manifest.metadata,
    duration: served.duration_ms / 1000,
    completed: served.completed,
    total_input_tokens: served.total_input,
    total_output_tokens: served.total_output,
    request_throughput: perSecond(served.completed, served),
    input_throughput: perSecond(served.total_input, served),
    output_throughput: perSecond(served.total_output, served),
  };
  for (const [name, key] of STATISTICS) {
    const { mean, median, percentiles } = sampleStatistics(served.samples[name], [99]);
    result[`mean_${key}_ms`] = mean;
    result[`median_${key}_ms`] = median;
    result[`p99_${key}_ms`] = percentiles[0]?.[1] ?? 0;
  }
  return {
    ...result,
    input_lens: served.requests.map(({ input_tokens }) => input_tokens),
    ...detailsOf(served),
  };
}
