/**
 * Result files and printed tables from a log with known times: every number is COMPAT's formula worked by hand in the
 * comments.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { report } from "../../src/cli/commands/report.ts";
import { folder, type Json, removeFolder } from "../support/compat-stub.ts";
import { runCommand } from "../support/run-command.ts";

afterAll(removeFolder);

const RUN = join(folder, "known");

/**
 * A  starts 10 (connected for 10, sent 20), chunks 110 160 260, ended 270, 4 tokens: ttft 100, e2el 250, tpot 150/3 = 50, gaps 50 100
 * B  starts 500, one chunk at 700, ended 705, 1 token: ttft 200, e2el 200, no tpot
 * C  starts 1200, chunks 1500 1700, ended 1720, 3 tokens: ttft 300, e2el 500, tpot 200/2 = 100, gap 200
 * D  starts 600, fails at 2010: 500. First start 10, last end 2010: 2.0 s
 */
const base = {
  turn: 0,
  status: "ok",
  failure: null,
  slot_ms: null,
  headers_ms: null,
  first_byte_ms: null,
  first_output_ms: null,
  chunk_tokens: null,
  cached_tokens: null,
  reasoning_tokens: null,
  prompt_tokens_source: "server",
  output_tokens_source: "server",
  planned_output_tokens: 4,
  finish_reason: "stop",
  tool_calls: null,
  engine: null,
  attempts: 1,
  after: [],
  think_ms: 0,
  agent: null,
};
const record = (
  id: string,
  sent: number,
  connect: number,
  chunks: number[],
  end: number,
  more: object,
): object => ({
  ...base,
  request_id: id,
  job_id: id,
  intended_ms: 0,
  sent_ms: sent,
  connect_ms: connect,
  first_token_ms: chunks[0] ?? null,
  last_token_ms: chunks.at(-1) ?? null,
  end_ms: end,
  chunk_ms: chunks,
  chunks: chunks.length,
  ...more,
});
const RECORDS = [
  // In the order of their ends; the plan's is A, B, C, D.
  record("A", 20, 10, [110, 160, 260], 270, {
    prompt_tokens: 10,
    output_tokens: 4,
    cached_tokens: 6,
    text: "aaa",
    planned_prompt_tokens: 9,
  }),
  record("B", 500, 0, [700], 705, {
    prompt_tokens: 20,
    output_tokens: 1,
    cached_tokens: 0,
    text: "b",
    planned_prompt_tokens: 20,
  }),
  record("C", 1200, 0, [1500, 1700], 1720, {
    prompt_tokens: 30,
    output_tokens: 3,
    cached_tokens: 12,
    text: "cc",
    planned_prompt_tokens: 30,
  }),
  record("D", 600, 0, [], 2010, {
    status: "failed",
    failure: { code: "http_5xx", message: "no", http_status: 500 },
    prompt_tokens: null,
    output_tokens: null,
    planned_prompt_tokens: 40,
  }),
];
const MANIFEST = {
  reprise_run: 1,
  id: "x",
  started_at: "2026-01-31T12:00:00.000Z",
  t0_wall_ms: 1769860800000,
  command: "bench",
  label: null,
  version: "0.1.0",
  host: { platform: "x", node: "20", cpus: 2, name: "h" },
  options: {
    model: "org/m",
    backend: "openai-chat",
    request_rate: 4,
    burstiness: 1,
    max_concurrency: 8,
    goodput: ["ttft:250", "tpot:60"],
    percentile_metrics: ["ttft", "tpot", "itl", "e2el"],
    metric_percentiles: [50, 99.9],
    save_detailed: true,
    num_prompts: 4,
  },
  seeds: { seed: 0 },
  target: { url: "http://h", model: "m", backend: "openai-chat", simulated: false, server: null },
  plan: { pacing: "load", requests: 4, jobs: 4, span_ms: 750, max_concurrency: 8, max_concurrent_jobs: null },
  tokenizer: null,
  metadata: { tensor_parallel_size: "8" },
  end: { ended_ms: 2010, interrupted: false, not_sent: 0, overdue: 0, generator: {}, engine: null },
};

function writeRun(path: string, options: object = {}): void {
  mkdirSync(path, { recursive: true });
  writeFileSync(
    join(path, "manifest.json"),
    JSON.stringify({ ...MANIFEST, options: { ...MANIFEST.options, ...options } }),
  );
  writeFileSync(join(path, "records.jsonl"), RECORDS.map((row) => `${JSON.stringify(row)}\n`).join(""));
  writeFileSync(
    join(path, "jobs.jsonl"),
    ["A", "B", "C", "D"].map((job_id) => `${JSON.stringify({ job_id, turns: 1 })}\n`).join(""),
  );
}

async function render(format: string, ...more: string[]): Promise<string> {
  const { code, out, err } = await runCommand(report, [RUN, "--format", format, ...more]);
  expect(code, err).toBe(0);
  return out;
}

const VLLM_KEYS =
  "date endpoint_type backend label model_id tokenizer_id num_prompts tensor_parallel_size request_rate burstiness max_concurrency duration completed failed total_input_tokens total_output_tokens request_throughput request_goodput output_throughput total_token_throughput max_output_tokens_per_s max_concurrent_requests input_lens output_lens start_times ttfts itls generated_texts errors".split(
    " ",
  );
const METRIC_KEYS = ["ttft", "tpot", "itl", "e2el"].flatMap((name) =>
  ["mean", "median", "std", "p50", "p99.9"].map((statistic) => `${statistic}_${name}_ms`),
);

describe("a log with known times", () => {
  beforeAll(() => writeRun(RUN));

  it("vLLM's file: keys and formulas", async () => {
    const result = JSON.parse(await render("vllm")) as Json;
    expect(Object.keys(result).sort()).toEqual([...VLLM_KEYS, ...METRIC_KEYS].sort());
    expect(result).toMatchObject({
      model_id: "org/m",
      tokenizer_id: "org/m",
      label: null,
      request_rate: 4,
      max_concurrency: 8,
      tensor_parallel_size: "8",
      duration: 2,
      completed: 3,
      failed: 1,
      total_input_tokens: 60,
      total_output_tokens: 8,
      request_throughput: 1.5,
      // A meets both; B's tpot is taken as 0 and its ttft of 200 is in bounds; C's ttft of 300 is not.
      request_goodput: 1,
      output_throughput: 4,
      total_token_throughput: 34,
      mean_ttft_ms: 200,
      median_ttft_ms: 200,
      mean_tpot_ms: 75,
      median_tpot_ms: 75,
      std_tpot_ms: 25,
      // Pooled gaps 50, 100, 200.
      median_itl_ms: 100,
      mean_e2el_ms: 950 / 3,
      median_e2el_ms: 250,
      // Seconds from 10: [10, 1010) holds A's three chunks and B's one; [1010, 2010) C's two.
      max_output_tokens_per_s: 4,
      // Ok ones: [10, 260), [500, 700), [1200, 1700) never meet.
      max_concurrent_requests: 1,
    });
    // sqrt(((−100)² + 0 + 100²) / 3)
    expect(result["std_ttft_ms"]).toBeCloseTo(Math.sqrt(20000 / 3), 9);
    expect(result["mean_itl_ms"]).toBeCloseTo(350 / 3, 9);
    // Position 2 × 0.999 = 1.998: 200 + 0.998 × 100.
    expect(result["p99.9_ttft_ms"]).toBeCloseTo(299.8, 9);
  });

  it("vLLM's file: one entry a request in the plan's order, in seconds", async () => {
    const result = JSON.parse(await render("vllm")) as Json;
    expect(result).toMatchObject({
      input_lens: [10, 20, 30, 40],
      output_lens: [4, 1, 3, 0],
      start_times: [0.01, 0.5, 1.2, 0.6],
      ttfts: [0.1, 0.2, 0.3, 0],
      itls: [[0.05, 0.1], [], [0.2], []],
      generated_texts: ["aaa", "b", "cc", ""],
      errors: ["", "", "", "no"],
    });
  });

  it("FastDeploy's file: its odd key, cached and server lengths, the end at the usage chunk", async () => {
    const result = JSON.parse(await render("fastdeploy")) as Json;
    expect(Object.keys(result)).toContain("request_goodput:");
    for (const key of ["backend", "failed", "request_goodput", "max_output_tokens_per_s", "start_times"])
      expect(result).not.toHaveProperty([key]);
    expect(result).toMatchObject({
      completed: 3,
      "request_goodput:": 1,
      input_lens: [6, 0, 12, 0],
      infer_input_lens: [10, 20, 30, 0],
      // Its log has answers and no reasoning in them; the prompts were not kept.
      reasoning_contents: ["", "", "", ""],
      input_texts: [null, null, null, null],
      // e2el 260, 205, 520 and with them tpot (260 − 100)/3 and (520 − 300)/2.
      mean_e2el_ms: 985 / 3,
    });
    expect(result["mean_tpot_ms"]).toBeCloseTo((160 / 3 + 110) / 2, 9);
  });

  it("without --save-detailed: FastDeploy's three odd arrays stay, all others go", async () => {
    const brief = join(folder, "brief");
    writeRun(brief, { save_detailed: false });
    const { out } = await runCommand(report, [brief, "--format", "fastdeploy"]);
    const left =
      "backend failed request_goodput max_output_tokens_per_s max_concurrent_requests input_lens output_lens start_times ttfts itls generated_texts errors".split(
        " ",
      );
    expect(Object.keys(JSON.parse(out) as Json).sort()).toEqual(
      [
        ...VLLM_KEYS.filter((key) => !left.includes(key)),
        "request_goodput:",
        "infer_input_lens",
        "input_texts",
        "reasoning_contents",
        ...METRIC_KEYS,
      ].sort(),
    );
    const vllm = await runCommand(report, [brief, "--format", "vllm"]);
    const details = "input_lens output_lens start_times ttfts itls generated_texts errors".split(" ");
    expect(Object.keys(JSON.parse(vllm.out) as Json).sort()).toEqual(
      [...VLLM_KEYS.filter((key) => !details.includes(key)), ...METRIC_KEYS].sort(),
    );
    const again = await runCommand(report, [brief, "--format", "vllm", "--detailed"]);
    expect(Object.keys(JSON.parse(again.out) as Json)).toEqual(expect.arrayContaining(details));
  });

  it("the trace replayer's file", async () => {
    const result = JSON.parse(await render("trace-replayer")) as Json;
    const statistics = ["ttft", "tpot", "itl", "latency"].flatMap((name) =>
      ["mean", "median", "p99"].map((statistic) => `${statistic}_${name}_ms`),
    );
    expect(Object.keys(result).sort()).toEqual(
      [
        ..."date model_id tokenizer_id best_of use_beam_search max_requests tensor_parallel_size duration completed total_input_tokens total_output_tokens request_throughput input_throughput output_throughput input_lens output_lens ttfts itls generated_texts errors".split(
          " ",
        ),
        ...statistics,
      ].sort(),
    );
    expect(result).toMatchObject({
      best_of: 1,
      use_beam_search: false,
      max_requests: -1,
      input_throughput: 30,
      // 1 + 0.99 × 2 = 2.98 ends at the third: 250 + 0.98 × 250.
      mean_latency_ms: 950 / 3,
    });
    expect(result["p99_latency_ms"]).toBeCloseTo(495, 9);
  });

  it("PyTorch records: twelve metrics, the arguments with tensor_parallel_size of the metadata", async () => {
    const records = JSON.parse(await render("pytorch")) as {
      benchmark: { name: string; extra_info: { args: Json } };
      model: { name: string };
      metric: { name: string; benchmark_values: number[]; extra_info: Json };
    }[];
    expect(records.map(({ metric }) => metric.name).sort()).toEqual(
      ["ttft", "tpot", "itl"]
        .flatMap((name) => ["mean", "median", "std", "p99"].map((s) => `${s}_${name}_ms`))
        .sort(),
    );
    for (const { benchmark, model, metric } of records) {
      expect(model.name).toBe("org/m");
      expect(benchmark.extra_info.args).toMatchObject({ tensor_parallel_size: "8", request_rate: 4 });
      expect(metric.extra_info).toMatchObject({ completed: 3 });
      expect(metric.extra_info).not.toHaveProperty("ttfts");
    }
    expect(records.find(({ metric }) => metric.name === "mean_ttft_ms")?.metric.benchmark_values).toEqual([
      200,
    ]);
  });

  it("the printed tables: 50 columns, labels in 40, two decimals", async () => {
    const table = await render("vllm", "--table", "printed");
    const lines = table.trimEnd().split("\n");
    for (const line of lines) expect(line.trimEnd().length).toBeLessThanOrEqual(51);
    expect(lines.slice(0, 14)).toEqual([
      "============ Serving Benchmark Result ============",
      "Successful requests:                     3         ",
      "Failed requests:                         1         ",
      "Maximum request concurrency:             8         ",
      "Request rate configured (RPS):           4.00      ",
      "Benchmark duration (s):                  2.00      ",
      "Total input tokens:                      60        ",
      "Total generated tokens:                  8         ",
      "Request throughput (req/s):              1.50      ",
      "Request goodput (req/s):                 1.00      ",
      "Output token throughput (tok/s):         4.00      ",
      "Peak output token throughput (tok/s):    4.00      ",
      "Peak concurrent requests:                1.00      ",
      "Total token throughput (tok/s):          34.00     ",
    ]);
    expect(lines).toContain("---------------Time to First Token----------------");
    expect(lines).toContain("-----Time per Output Token (excl. 1st token)------");
    expect(lines).toContain("---------------Inter-token Latency----------------");
    expect(lines).toContain("----------------End-to-end Latency----------------");
    expect(lines).toContain("P99.9 TTFT (ms):                         299.80    ");
    expect(lines.at(-1)).toBe("=".repeat(50));
    const fastdeploy = (await render("fastdeploy", "--table", "printed")).split("\n");
    expect(fastdeploy).toContain("Request throughput (req/s):              1.500     ");
    expect(fastdeploy).toContain("Total Token throughput (tok/s):          34.00     ");
    const replayer = (await render("trace-replayer", "--table", "printed")).split("\n");
    expect(
      replayer
        .filter((line) => !line.startsWith("-") && !line.startsWith("="))
        .map((line) => line.split(":")[0]),
    ).toEqual([
      "Successful requests",
      "Benchmark duration (s)",
      "Total input tokens",
      "Total generated tokens",
      "Request throughput (req/s)",
      "Input token throughput (tok/s)",
      "Output token throughput (tok/s)",
      ...["TTFT", "TPOT", "ITL", "Latency"].flatMap((name) =>
        ["Mean", "Median", "P99"].map((s) => `${s} ${name} (ms)`),
      ),
      "",
    ]);
    expect(replayer).toContain("-----------------Request Latency------------------");
    expect(replayer).toContain("Mean Latency (ms):                       316.67    ");
  });
});
