/** The PyTorch benchmark format: one record a metric. */
import type { JsonValue } from "../../core/json.ts";
import { redactedJson } from "../../record/redacted-json.ts";
import type { ReportFormat, ReportInput } from "../report-format.ts";
import { fastdeployResult, fastdeployServedRun } from "./fastdeploy.ts";
import { resultSettings } from "./result-settings.ts";
import type { SampleName } from "./served-run.ts";
import { metricKeys } from "./serving-result.ts";
import { vllmResult, vllmServedRun } from "./vllm.ts";

export const pytorch: ReportFormat = {
  name: "pytorch",
  title: "PyTorch benchmark records",
  render: async function* (input) {
    yield `${redactedJson(await pytorchRecords(input))}\n`;
  },
};

const METRICS: readonly SampleName[] = ["ttft", "tpot", "itl"];
/** Raw data is not repeated in every record. */
const LEFT_OUT = ["ttfts", "itls", "generated_texts", "errors"];

/** {mean, median, std, p99} × {ttft, tpot, itl}. */
export async function pytorchRecords(input: ReportInput): Promise<readonly JsonValue[]> {
  const { manifest } = input.analysis;
  const settings = resultSettings(manifest, input.options);
  const isFastdeploy = manifest.options["result_format"] === "fastdeploy";
  const result = isFastdeploy ? await fastdeployResult(input) : await vllmResult(input);
  const served = await (isFastdeploy ? fastdeployServedRun : vllmServedRun)(input, false);
  const values = metricKeys(served, METRICS, [99]);
  const extra = Object.fromEntries(
    Object.entries(result).filter(([key]) => !LEFT_OUT.includes(key) && !(key in values)),
  );
  const tensorParallel = manifest.metadata["tensor_parallel_size"];
  const args: Record<string, JsonValue | undefined> = {
    ...manifest.options,
    ...(manifest.options["tensor_parallel_size"] === undefined && tensorParallel !== undefined
      ? { tensor_parallel_size: tensorParallel }
      : {}),
  };
  return Object.entries(values).map(([name, value]) => ({
    benchmark: {
      name: isFastdeploy ? "fastdeploy benchmark" : "vLLM benchmark",
      extra_info: { args },
    },
    model: { name: settings.model },
    metric: { name, benchmark_values: [value], extra_info: extra },
  }));
}
