import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../core/virtual-clock.ts";
import { intervalBetween, readEngineMetrics } from "./engine-metrics.ts";
import { EngineTally } from "./engine-tally.ts";
import { parseNvidiaSmi, readDcgm } from "./gpu-metrics.ts";
import type { HttpCall } from "./http-call.ts";
import { parsePrometheusText } from "./prometheus-text.ts";
import { Scraper, type EngineRow } from "./scrape.ts";

const data = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "test", "data", "engine-metrics");
const read = (text: string, engine: string) => readEngineMetrics(parsePrometheusText(text), engine);

describe("Prometheus text", () => {
  it("reads names, labels with escapes and commas, exponents, timestamps and exemplars; skips what is none", () => {
    expect(
      parsePrometheusText(
        [
          "# HELP a b",
          "a 1",
          'vllm:x_sum{model_name="a,b}=\\"c\\"\\\\n\\nd", engine = "0",} 1.5e-3 1712345678901\r',
          'b{le="+Inf"} 3 # {trace_id="x"} 0.5',
          "nan NaN",
          "inf +Inf",
          "no-value",
          'broken{x="1} 5',
          "",
        ].join("\n"),
      ),
    ).toEqual([
      { name: "a", labels: {}, value: 1 },
      { name: "vllm:x_sum", labels: { model_name: 'a,b}="c"\\n\nd', engine: "0" }, value: 0.0015 },
      { name: "b", labels: { le: "+Inf" }, value: 3 },
    ]);
  });
});

describe("engine metrics", () => {
  it("reads what vLLM 0.32 really wrote", () => {
    const reading = read(readFileSync(join(data, "vllm-0.32.prom"), "utf8"), "vllm");
    expect(reading).toEqual({
      running: 0,
      waiting: 0,
      kv_usage: 0,
      preemptions: 0,
      cache_queries: 960,
      cache_hits: 384,
      hit_rate: null,
      queue: { seconds: 5.37809999059391e-5, count: 2 },
      prefill: { seconds: 0.01975319899997885, count: 2 },
      decode: { seconds: 0.056316747999971994, count: 2 },
    });
  });

  it("reads what llama.cpp 0.7 really wrote: cached and processed tokens make the queries, seconds have no mean", () => {
    const reading = read(readFileSync(join(data, "llama-cpp-0.7.prom"), "utf8"), "llama-cpp");
    expect(reading).toMatchObject({
      running: 0,
      waiting: 0,
      kv_usage: null,
      cache_hits: 15,
      cache_queries: 32,
    });
    expect(reading.prefill).toEqual({ seconds: 0.000628, count: null });
    expect(intervalBetween(read("", "llama-cpp"), reading).prefill_mean_ms).toBeNull();
  });

  it("does not mind older names, separators, _total, and several ranks", () => {
    const older = read(
      [
        'vllm_num_requests_running{engine="0"} 3',
        'vllm_num_requests_running{engine="1"} 4',
        'vllm:gpu_cache_usage_perc{engine="0"} 0.2',
        'vllm:gpu_cache_usage_perc{engine="1"} 0.6',
        "vllm:prefix_cache_queries 10",
        "vllm:gpu_prefix_cache_hits_total 4",
      ].join("\n"),
      "vllm",
    );
    expect(older).toMatchObject({ running: 7, cache_queries: 10, cache_hits: 4, waiting: null, queue: null });
    expect(older.kv_usage).toBeCloseTo(0.4, 12);
    // A command template does not say which engine it starts: the names do.
    expect(read("sglang:num_running_reqs 5\nsglang:token_usage 0.5", "command")).toMatchObject({
      running: 5,
      kv_usage: 0.5,
    });
    expect(read("something_else 5", "command").running).toBeNull();
  });

  it("differences: hit rate and means of the interval; a restart tells nothing; no traffic is null, not 0", () => {
    const at = (queries: number, hits: number, seconds: number, count: number) =>
      read(
        `vllm:prefix_cache_queries_total ${queries}\nvllm:prefix_cache_hits_total ${hits}\n` +
          `vllm:request_queue_time_seconds_sum ${seconds}\nvllm:request_queue_time_seconds_count ${count}\n`,
        "vllm",
      );
    const interval = intervalBetween(at(1000, 900, 10, 20), at(1400, 1000, 12, 24));
    expect(interval).toMatchObject({
      hit_rate: 0.25,
      queue_mean_ms: 500,
      requests: 4,
      prefill_mean_ms: null,
    });
    expect(intervalBetween(at(1000, 900, 10, 20), at(5, 0, 0, 0))).toMatchObject({
      hit_rate: null,
      queue_mean_ms: null,
    });
    expect(intervalBetween(at(5, 0, 1, 1), at(5, 0, 1, 1))).toMatchObject({
      hit_rate: null,
      queue_mean_ms: null,
    });
  });
});

describe("the tally of a run", () => {
  const at = (queries: number, hits: number): ReturnType<typeof read> =>
    read(`vllm:prefix_cache_queries_total ${queries}\nvllm:prefix_cache_hits_total ${hits}\n`, "vllm");

  it("spans first to last", () => {
    const tally = new EngineTally();
    for (const [i, reading] of [at(100, 50), at(150, 50), at(200, 75)].entries()) tally.add(i, reading, 1);
    expect(tally.summary("vllm")).toMatchObject({ hit_rate: 0.25 });
  });

  it("a server that was started anew in between tells nothing, however high its counters are at the end", () => {
    const tally = new EngineTally();
    for (const [i, reading] of [at(100, 50), at(20, 0), at(300, 290)].entries()) tally.add(i, reading, 1);
    expect(tally.summary("vllm")).toMatchObject({ hit_rate: null });
  });
});

describe("GPU figures", () => {
  it("nvidia-smi lines, absent ones null", () => {
    expect(
      parseNvidiaSmi("0, 97, 71234, 81559, 612.30\n1, [N/A], 10, 81559, [Not Supported]\nNo devices\n"),
    ).toEqual([
      { index: 0, utilisation: 0.97, memory_used_mib: 71234, memory_total_mib: 81559, power_w: 612.3 },
      { index: 1, utilisation: null, memory_used_mib: 10, memory_total_mib: 81559, power_w: null },
    ]);
  });

  it("DCGM", () => {
    const text =
      'DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="x"} 50\nDCGM_FI_DEV_FB_USED{gpu="0"} 10\nDCGM_FI_DEV_FB_FREE{gpu="0"} 30\n';
    expect(readDcgm(parsePrometheusText(text))).toEqual([
      { index: 0, utilisation: 0.5, memory_used_mib: 10, memory_total_mib: 40, power_w: null },
    ]);
  });
});

describe("scraper", () => {
  it("writes rows at even times from t0, survives a failure, and sums up first to last", async () => {
    const clock = new VirtualClock();
    const rows: EngineRow[] = [];
    let calls = 0;
    const call: HttpCall = async () => {
      const n = calls++;
      if (n === 2) throw new Error("connection refused");
      return {
        status: 200,
        software: null,
        body: `vllm:num_requests_running ${n}\nvllm:kv_cache_usage_perc ${n / 10}\nvllm:prefix_cache_queries_total ${100 * n}\nvllm:prefix_cache_hits_total ${50 * n}\nvllm:num_preemptions_total ${n}\n`,
      };
    };
    const t0 = clock.now() + 500;
    const scraper = new Scraper({
      metrics_url: "http://x/metrics",
      engine: "vllm",
      every_ms: 1000,
      t0,
      clock,
      call,
      write: (row) => rows.push(row),
    });
    await scraper.start();
    await clock.run(3_500);
    const summary = await scraper.stop();
    expect(rows.map((row) => row.ms)).toEqual([-500, 500, 1500, 2500, 3000]);
    expect(rows[2]).toEqual({ ms: 1500, error: "connection refused" });
    expect(rows[1]).toMatchObject({ running: 1, hit_rate: 0.5, preemptions: 1 });
    // Readings n = 0, 1, 3, 4; the first and the last are of an idle server, so gauges take 1 and 3.
    expect(summary).toMatchObject({
      samples: 5,
      failed_samples: 1,
      hit_rate: 0.5,
      preemptions: 4,
      running_max: 3,
      running_mean: 2,
      kv_usage_max: 0.3,
      gpu_utilisation_mean: null,
    });
  });

  it("a server without metrics gives null, not zeros", async () => {
    const clock = new VirtualClock();
    const rows: EngineRow[] = [];
    const scraper = new Scraper({
      metrics_url: "http://x/metrics",
      engine: "vllm",
      every_ms: 1000,
      t0: 0,
      clock,
      call: async () => ({ status: 404, software: null, body: "" }),
      write: (row) => rows.push(row),
    });
    await scraper.start();
    expect(await scraper.stop()).toBeNull();
    expect(rows).toHaveLength(2);
    expect(rows[0]).toHaveProperty("error", "http://x/metrics answers 404");
  });
});
