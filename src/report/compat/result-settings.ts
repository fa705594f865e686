/** What a result file needs of the run's own options, as its manifest has them. */
import type { JsonValue } from "../../core/json.ts";
import { parseGoodput } from "../../metric/index.ts";
import type { Manifest } from "../../record/manifest.ts";
import type { ReportOptions } from "../report-format.ts";
import { SAMPLE_NAMES, type SampleName } from "./served-run.ts";

export interface ResultSettings {
  /** `--percentile-metrics`, in their own order of the table. */
  readonly metrics: readonly SampleName[];
  /** `--metric-percentiles`. */
  readonly percentiles: readonly number[];
  /** Upper bounds in ms; `null` = no goodput was asked for. */
  readonly goodput: Readonly<Partial<Record<"ttft" | "tpot" | "e2el", number>>> | null;
  readonly detailed: boolean;
  readonly backend: string;
  readonly model: string;
  readonly tokenizer: string;
  /** Local time of the run's start, `20260131-235959`. */
  readonly date: string;
}

const DEFAULT_METRICS: readonly SampleName[] = ["ttft", "tpot", "itl"];

export function resultSettings(manifest: Manifest, options: ReportOptions): ResultSettings {
  const given = manifest.options;
  const model = textOf(given["model"]) ?? manifest.target.model;
  return {
    metrics: metricNames(given["percentile_metrics"]) ?? DEFAULT_METRICS,
    percentiles: numbers(given["metric_percentiles"]) ?? [99],
    goodput: goodputOf(given["goodput"]),
    detailed: options.detailed ?? given["save_detailed"] === true,
    backend: manifest.target.backend,
    model,
    tokenizer: textOf(given["tokenizer"]) ?? model,
    date: localStamp(manifest.started_at),
  };
}

/** `20260131-235959`, local time, as those tools stamp their files. */
export function localStamp(iso: string): string {
  const at = new Date(iso);
  const two = (value: number): string => String(value).padStart(2, "0");
  return (
    `${at.getFullYear()}${two(at.getMonth() + 1)}${two(at.getDate())}` +
    `-${two(at.getHours())}${two(at.getMinutes())}${two(at.getSeconds())}`
  );
}

/** Rate, burstiness, cap and ramp as both result files hold them. */
export function trafficOf({ options, command }: Manifest): Record<string, JsonValue> {
  // A replayed trace has no rate unless one was asked for.
  const rate = command === "bench" ? "inf" : (options["arrival_rate"] ?? null);
  const ramp: Record<string, JsonValue> =
    options["ramp_up_strategy"] === undefined
      ? {}
      : {
          ramp_up_strategy: options["ramp_up_strategy"],
          ramp_up_start_rps: options["ramp_up_start_rps"] ?? null,
          ramp_up_end_rps: options["ramp_up_end_rps"] ?? null,
        };
  return {
    request_rate: options["request_rate"] ?? rate,
    burstiness: options["burstiness"] ?? 1,
    max_concurrency: options["max_concurrency"] ?? null,
    ...ramp,
  };
}

/** The word of a percentile in a key: 99 → `99`, 99.9 → `99.9`. */
export function percentileWord(p: number): string {
  return String(p);
}

function metricNames(value: JsonValue | undefined): readonly SampleName[] | null {
  if (!Array.isArray(value)) return null;
  return SAMPLE_NAMES.filter((name) => value.includes(name));
}

function numbers(value: JsonValue | undefined): readonly number[] | null {
  if (!Array.isArray(value)) return null;
  return value.filter((item): item is number => typeof item === "number");
}

function textOf(value: JsonValue | undefined): string | null {
  return typeof value === "string" ? value : null;
}

function goodputOf(value: JsonValue | undefined): ResultSettings["goodput"] {
  if (!Array.isArray(value) || value.length === 0) return null;
  const bounds: Partial<Record<"ttft" | "tpot" | "e2el", number>> = {};
  for (const { metric, bound } of parseGoodput(value.map(String))) {
    if (metric === "ttft" || metric === "tpot") bounds[metric] = bound;
    else if (metric === "e2e") bounds.e2el = bound;
  }
  return Object.keys(bounds).length === 0 ? null : bounds;
}
