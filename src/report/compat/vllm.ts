/** The result file of `vllm bench serve`, from the log. */
import type { JsonValue } from "../../core/json.ts";
import { redactedJson } from "../../record/redacted-json.ts";
import type { ReportFormat, ReportInput } from "../report-format.ts";
import { renderServingTable } from "./printed-table.ts";
import { probeFacts } from "./probe-facts.ts";
import { resultSettings, trafficOf } from "./result-settings.ts";
import { readServedRun, type ServedRun } from "./served-run.ts";
import { detailsOf, goodputOf, metricKeys, perSecond } from "./serving-result.ts";

export const vllm: ReportFormat = {
  name: "vllm",
  title: "result file of vllm bench serve; --table printed: its table",
  render: async function* (input) {
    if (input.options.table === "printed") yield await vllmTable(input);
    else yield `${redactedJson(await vllmResult(input))}\n`;
  },
};

/** One object; keys as that tool writes them. */
export async function vllmResult(input: ReportInput): Promise<Record<string, JsonValue>> {
  const { manifest } = input.analysis;
  const settings = resultSettings(manifest, input.options);
  const served = await vllmServedRun(input, settings.detailed);
  return {
    date: settings.date,
    endpoint_type: settings.backend,
    backend: settings.backend,
    label: manifest.label,
    model_id: settings.model,
    tokenizer_id: settings.tokenizer,
    num_prompts: manifest.plan.requests,
    ...manifest.metadata,
    ...trafficOf(manifest),
    duration: served.duration_ms / 1000,
    completed: served.completed,
    failed: served.failed,
    total_input_tokens: served.total_input,
    total_output_tokens: served.total_output,
    request_throughput: perSecond(served.completed, served),
    request_goodput: goodputOf(served, settings.goodput),
    output_throughput: perSecond(served.total_output, served),
    total_token_throughput: perSecond(served.total_input + served.total_output, served),
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

async function vllmTable(input: ReportInput): Promise<string> {
  const settings = resultSettings(input.analysis.manifest, input.options);
  return renderServingTable("vllm", await vllmServedRun(input, false), settings, input.analysis.manifest);
}

function vllmServedRun(input: ReportInput, detailed: boolean): Promise<ServedRun> {
  return readServedRun(input, { detailed, untilEnd: false, dropEmpty: false });
}
