/** The result file of `vllm bench serve`, from the log. */
import type { JsonValue } from "../../core/json.ts";
import type { ReportFormat, ReportInput } from "../report-format.ts";
import { renderServingTable } from "./printed-table.ts";
import { probeFacts } from "./probe-facts.ts";
import { resultFormat } from "./result-format.ts";
import { resultSettings } from "./result-settings.ts";
import { readServedRun, type ServedRun } from "./served-run.ts";
import { askedOf, detailsOf, metricKeys, throughputOf } from "./serving-result.ts";

export const vllm: ReportFormat = resultFormat({
  name: "vllm",
  tool: "vllm bench serve",
  result: vllmResult,
  table: async (input) => renderServingTable("vllm", await vllmServedRun(input, false), input),
});

/** One object; keys as that tool writes them. */
export async function vllmResult(input: ReportInput): Promise<Record<string, JsonValue>> {
  const { manifest } = input.analysis;
  const settings = resultSettings(manifest, input.options);
  const served = await vllmServedRun(input, settings.detailed);
  return {
    date: settings.date,
    endpoint_type: settings.backend,
    backend: settings.backend,
    ...askedOf(manifest, settings),
    duration: served.duration_ms / 1000,
    completed: served.completed,
    failed: served.failed,
    ...throughputOf(served, settings, "request_goodput"),
    ...(settings.detailed
      ? {
          input_lens: served.requests.map(({ input_tokens }) => input_tokens),
          start_times: served.requests.map(({ start_ms }) => (start_ms ?? 0) / 1000),
          ...detailsOf(served),
        }
      : {}),
    max_output_tokens_per_s: served.peak_chunks_per_s,
    max_concurrent_requests: served.peak_concurrency,
    ...probeFacts(manifest),
    ...metricKeys(served, settings.metrics, settings.percentiles),
  };
}

/** As the trace replayer does: latency ends with the last chunk, and replies without a token count. */
export function vllmServedRun(input: ReportInput, detailed: boolean): Promise<ServedRun> {
  return readServedRun(input, { detailed, untilEnd: false, dropEmpty: false });
}
