/** What the result files of vLLM and FastDeploy have in common: what ran, throughput, chosen metrics, goodput. */
import type { JsonValue } from "../../core/json.ts";
import type { Manifest } from "../../record/manifest.ts";
import { METRIC_COLUMNS, type MetricColumn, metricKey } from "./metric-columns.ts";
import { percentileWord, type ResultSettings, trafficOf } from "./result-settings.ts";
import { sampleStatistics } from "./sample-statistics.ts";
import type { SampleName, ServedRun } from "./served-run.ts";

type Result = Record<string, JsonValue>;

/** `count` per second of the run; 0 for a run that sent nothing. */
export function perSecond(count: number, { duration_ms }: ServedRun): number {
  return duration_ms > 0 ? (count * 1000) / duration_ms : 0;
}

/** What was asked of which model; `--metadata` wins over what stands before it. */
export function askedOf(manifest: Manifest, settings: ResultSettings): Result {
  return {
    label: manifest.label,
    model_id: settings.model,
    tokenizer_id: settings.tokenizer,
    num_prompts: manifest.plan.requests,
    ...manifest.metadata,
    ...trafficOf(manifest),
  };
}

/** Tokens, and what went through a second; the key of goodput is not the same in both files. */
export function throughputOf(
  served: ServedRun,
  { goodput }: ResultSettings,
  goodputKey: "request_goodput" | "request_goodput:",
): Result {
  return {
    total_input_tokens: served.total_input,
    total_output_tokens: served.total_output,
    request_throughput: perSecond(served.completed, served),
    [goodputKey]: goodputOf(served, goodput),
    output_throughput: perSecond(served.total_output, served),
    total_token_throughput: perSecond(served.total_input + served.total_output, served),
  };
}

/** Requests that meet every bound, a second; `null` where no goodput was asked for. */
export function goodputOf(served: ServedRun, bounds: ResultSettings["goodput"]): number | null {
  if (bounds === null) return null;
  const good = served.judged.filter(
    ({ ttft_ms, tpot_ms, e2el_ms }) =>
      ttft_ms <= (bounds.ttft ?? Infinity) &&
      tpot_ms <= (bounds.tpot ?? Infinity) &&
      e2el_ms <= (bounds.e2el ?? Infinity),
  );
  return perSecond(good.length, served);
}

/** `{mean,median,std,pN}_<metric>[_ms]` of these metrics; `null` for what the server would have had to tell. */
export function metricKeys(
  served: ServedRun,
  names: readonly SampleName[],
  percentiles: readonly number[],
): Result {
  const out: Result = {};
  for (const column of METRIC_COLUMNS.filter(({ name }) => names.includes(name)))
    for (const [key, value] of statisticsOf(served, column, percentiles)) out[key] = value;
  return out;
}

function* statisticsOf(
  served: ServedRun,
  column: MetricColumn,
  percentiles: readonly number[],
): Generator<[key: string, value: number | null]> {
  const samples = served.samples[column.name];
  const known = samples.length > 0 || !column.told;
  const { mean, median, std, percentiles: values } = sampleStatistics(samples, percentiles);
  yield [metricKey("mean", column), known ? mean : null];
  yield [metricKey("median", column), known ? median : null];
  yield [metricKey("std", column), known ? std : null];
  for (const [p, value] of values) yield [metricKey(`p${percentileWord(p)}`, column), known ? value : null];
}

/** Arrays with one entry a request, in the plan's order; times in seconds. */
export function detailsOf(served: ServedRun): Result {
  const { requests } = served;
  return {
    output_lens: requests.map((request) => request.output_tokens),
    ttfts: requests.map(({ ttft_ms }) => (ttft_ms ?? 0) / 1000),
    itls: requests.map(({ gaps_ms }) => (gaps_ms ?? []).map((gap) => gap / 1000)),
    generated_texts: requests.map(({ text }) => text),
    errors: requests.map(({ error }) => error),
  };
}
