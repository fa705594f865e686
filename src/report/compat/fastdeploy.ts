/** The result file of `fastdeploy bench serve`, from the log. */
import type { JsonValue } from "../../core/json.ts";
import { redactedJson } from "../../record/redacted-json.ts";
import type { ReportFormat, ReportInput } from "../report-format.ts";
import { renderServingTable } from "./printed-table.ts";
import { resultSettings, trafficOf } from "./result-settings.ts";
import { readServedRun, type ServedRun } from "./served-run.ts";
import { detailsOf, goodputOf, metricKeys, perSecond } from "./serving-result.ts";

export const fastdeploy: ReportFormat = {
  name: "fastdeploy",
  title: "result file of fastdeploy bench serve; --table printed: its table",
  render: async function* (input) {
    if (input.options.table === "printed") yield await fastdeployTable(input);
    else yield `${redactedJson(await fastdeployResult(input))}\n`;
  },
};

/** One object; keys as that tool writes them, the colon in `request_goodput:` included. */
export async function fastdeployResult(input: ReportInput): Promise<Record<string, JsonValue>> {
  const { manifest } = input.analysis;
  const settings = resultSettings(manifest, input.options);
  const served = await fastdeployServedRun(input, true);
  const { requests } = served;
  return {
    date: settings.date,
    endpoint_type: settings.backend,
    label: manifest.label,
    model_id: settings.model,
    tokenizer_id: settings.tokenizer,
    num_prompts: manifest.plan.requests,
    ...manifest.metadata,
    ...trafficOf(manifest),
    duration: served.duration_ms / 1000,
    completed: served.completed,
    total_input_tokens: served.total_input,
    total_output_tokens: served.total_output,
    request_throughput: perSecond(served.completed, served),
    "request_goodput:": goodputOf(served, settings.goodput),
    output_throughput: perSecond(served.total_output, served),
    total_token_throughput: perSecond(served.total_input + served.total_output, served),
    // These three stay without --save-detailed too.
    infer_input_lens: requests.map(({ ok, input_tokens }) => (ok ? input_tokens : 0)),
    input_texts: requests.map(({ input_text }) => input_text),
    reasoning_contents: requests.map(({ reasoning }) => reasoning),
    ...(settings.detailed
      ? {
          input_lens: requests.map(({ ok, cached_tokens }) => (ok ? (cached_tokens ?? 0) : 0)),
          ...detailsOf(served),
        }
      : {}),
    ...metricKeys(served, settings.metrics, settings.percentiles),
  };
}

async function fastdeployTable(input: ReportInput): Promise<string> {
  const { manifest } = input.analysis;
  const settings = resultSettings(manifest, input.options);
  return renderServingTable("fastdeploy", await fastdeployServedRun(input, false), settings, manifest);
}

/** Its chat client stops the clock at the usage chunk, and skips replies without a token. */
function fastdeployServedRun(input: ReportInput, detailed: boolean): Promise<ServedRun> {
  const { backend } = input.analysis.manifest.target;
  return readServedRun(input, { detailed, untilEnd: backend.includes("chat"), dropEmpty: true });
}
