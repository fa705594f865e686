/** The tables that those tools print: 50 columns, labels in 40, two decimals. Scripts grep them. */
import type { Manifest } from "../../record/manifest.ts";
import type { ReportInput } from "../report-format.ts";
import { METRIC_COLUMNS } from "./metric-columns.ts";
import { probeFacts } from "./probe-facts.ts";
import { percentileWord, type ResultSettings, resultSettings } from "./result-settings.ts";
import { sampleStatistics } from "./sample-statistics.ts";
import type { ServedRun } from "./served-run.ts";
import { goodputOf, perSecond } from "./serving-result.ts";

const WIDTH = 50;
const LABEL = 40;
const TITLE = " Serving Benchmark Result ";

/** Centred in a rule; what is left over goes to the right, as Python's `format` has it. */
export function heading(text: string, fill: string): string {
  const left = Math.max(0, Math.floor((WIDTH - text.length) / 2));
  const right = Math.max(0, WIDTH - text.length - left);
  return `${fill.repeat(left)}${text}${fill.repeat(right)}`;
}

export function row(label: string, value: string): string {
  return `${label.padEnd(LABEL)} ${value.padEnd(10)}`;
}

export const count = (label: string, value: number): string => row(label, String(value));
export const decimals = (label: string, value: number, digits = 2): string =>
  row(label, value.toFixed(digits));

/** `vllm bench serve` and `fastdeploy bench serve`; the lines that only one of them prints are left out for the other. */
export function renderServingTable(
  tool: "vllm" | "fastdeploy",
  served: ServedRun,
  input: ReportInput,
): string {
  const { manifest } = input.analysis;
  const settings = resultSettings(manifest, input.options);
  const ours = tool === "vllm";
  const { options } = manifest;
  const lines = [heading(TITLE, "="), count("Successful requests:", served.completed)];
  if (ours) {
    lines.push(count("Failed requests:", served.failed));
    const { max_concurrency: cap, request_rate: rate } = options;
    if (typeof cap === "number") lines.push(count("Maximum request concurrency:", cap));
    if (typeof rate === "number") lines.push(decimals("Request rate configured (RPS):", rate));
  }
  lines.push(
    decimals("Benchmark duration (s):", served.duration_ms / 1000),
    count("Total input tokens:", served.total_input),
    count("Total generated tokens:", served.total_output),
    decimals("Request throughput (req/s):", perSecond(served.completed, served), ours ? 2 : 3),
  );
  const goodput = goodputOf(served, settings.goodput);
  if (goodput !== null) lines.push(decimals("Request goodput (req/s):", goodput));
  lines.push(decimals("Output token throughput (tok/s):", perSecond(served.total_output, served)));
  if (ours)
    lines.push(
      decimals("Peak output token throughput (tok/s):", served.peak_chunks_per_s),
      decimals("Peak concurrent requests:", served.peak_concurrency),
    );
  lines.push(
    decimals(
      ours ? "Total token throughput (tok/s):" : "Total Token throughput (tok/s):",
      perSecond(served.total_input + served.total_output, served),
    ),
  );
  if (ours) lines.push(...probeLines(manifest));
  lines.push(...metricLines(served, settings), "=".repeat(WIDTH));
  return `${lines.join("\n")}\n`;
}

function metricLines(served: ServedRun, settings: ResultSettings): string[] {
  const lines: string[] = [];
  for (const column of METRIC_COLUMNS.filter(({ name }) => settings.metrics.includes(name))) {
    const samples = served.samples[column.name];
    const unit = column.isTime ? " (ms)" : "";
    const value = (label: string, number: number): string =>
      column.told && samples.length === 0 ? row(label, "n/a") : decimals(label, number);
    const { mean, median, percentiles } = sampleStatistics(samples, settings.percentiles);
    lines.push(
      heading(column.heading, "-"),
      value(`Mean ${column.word}${unit}:`, mean),
      value(`Median ${column.word}${unit}:`, median),
      ...percentiles.map(([p, at]) => value(`P${percentileWord(p)} ${column.word}${unit}:`, at)),
    );
  }
  return lines;
}

function probeLines(manifest: Manifest): string[] {
  const facts = probeFacts(manifest);
  if (Object.keys(facts).length === 0) return [];
  const of = (key: string): number => facts[key] ?? 0;
  return [
    heading("Probe Requests", "-"),
    count("Probe requests completed:", of("probe_completed")),
    count("Probe requests failed:", of("probe_failed")),
    decimals("Median probe E2EL (ms):", of("probe_median_e2el_ms")),
    decimals("P99 probe E2EL (ms):", of("probe_p99_e2el_ms")),
    decimals("Max probe E2EL (ms):", of("probe_max_e2el_ms")),
  ];
}

const REPLAYER_METRICS = [
  ["ttft", "TTFT", "Time to First Token"],
  ["tpot", "TPOT", "Time per Output Token (excl. 1st token)"],
  ["itl", "ITL", "Inter-token Latency"],
  ["e2el", "Latency", "Request Latency"],
] as const;

/** The vLLM trace replayer's table. */
export function renderReplayerTable(served: ServedRun): string {
  const lines = [
    heading(TITLE, "="),
    count("Successful requests:", served.completed),
    decimals("Benchmark duration (s):", served.duration_ms / 1000),
    count("Total input tokens:", served.total_input),
    count("Total generated tokens:", served.total_output),
    decimals("Request throughput (req/s):", perSecond(served.completed, served)),
    decimals("Input token throughput (tok/s):", perSecond(served.total_input, served)),
    decimals("Output token throughput (tok/s):", perSecond(served.total_output, served)),
  ];
  for (const [name, word, title] of REPLAYER_METRICS) {
    const { mean, median, percentiles } = sampleStatistics(served.samples[name], [99]);
    lines.push(
      heading(title, "-"),
      decimals(`Mean ${word} (ms):`, mean),
      decimals(`Median ${word} (ms):`, median),
      decimals(`P99 ${word} (ms):`, percentiles[0]?.[1] ?? 0),
    );
  }
  return `${[...lines, "=".repeat(WIDTH)].join("\n")}\n`;
}
