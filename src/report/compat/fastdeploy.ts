/** The result file of `fastdeploy bench serve`, from the log. */
import type { JsonValue } from "../../core/json.ts";
import type { ReportFormat, ReportInput } from "../report-format.ts";
import { renderServingTable } from "./printed-table.ts";
import { resultFormat } from "./result-format.ts";
import { resultSettings } from "./result-settings.ts";
import { readServedRun, type ServedRun } from "./served-run.ts";
import { askedOf, detailsOf, metricKeys, throughputOf } from "./serving-result.ts";

export const fastdeploy: ReportFormat = resultFormat({
  name: "fastdeploy",
  tool: "fastdeploy bench serve",
  result: fastdeployResult,
  table: async (input) => renderServingTable("fastdeploy", await fastdeployServedRun(input, false), input),
});

/** One object; keys as that tool writes them, the colon in `request_goodput:` included. */
export async function fastdeployResult(input: ReportInput): Promise<Record<string, JsonValue>> {
  const { manifest } = input.analysis;
  const settings = resultSettings(manifest, input.options);
  const served = await fastdeployServedRun(input, true);
  const { requests } = served;
  return {
    date: settings.date,
    endpoint_type: settings.backend,
    ...askedOf(manifest, settings),
    duration: served.duration_ms / 1000,
    completed: served.completed,
    ...throughputOf(served, settings, "request_goodput:"),
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

/** Its chat client stops the clock at the usage chunk, and skips replies without a token. */
export function fastdeployServedRun(input: ReportInput, detailed: boolean): Promise<ServedRun> {
  const { backend } = input.analysis.manifest.target;
  return readServedRun(input, { detailed, untilEnd: backend.includes("chat"), dropEmpty: true });
}
