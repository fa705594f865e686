import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { sleepUntil } from "../core/clock.ts";
import { VirtualClock } from "../core/virtual-clock.ts";
import { readEngineMetrics } from "../server/engine-metrics.ts";
import { parsePrometheusText } from "../server/prometheus-text.ts";
import { createSimEngine, digestPrompt, type SimEngine } from "../sim/index.ts";
import { renderMetrics } from "../sim/prometheus.ts";
import { createSimWatch, readSim } from "./sim-watch.ts";

const folders: string[] = [];
afterEach(() => {
  for (const made of folders.splice(0)) rmSync(made, { recursive: true, force: true });
});

/** One request at a time, each token 90 ms after the one before. */
function setUp(): { clock: VirtualClock; engine: SimEngine; folder: string } {
  const clock = new VirtualClock();
  const engine = createSimEngine(
    {
      model: "qwen2.5-0.5b",
      gpu: "l4",
      block_size: 4,
      num_gpu_blocks: 100,
      max_num_seqs: 1,
      linear_step: { base_ms: 90, prefill_token_ms: 0, decode_seq_ms: 0 },
    },
    clock,
    1,
  );
  const folder = mkdtempSync(join(tmpdir(), "reprise-watch-"));
  folders.push(folder);
  return { clock, engine, folder };
}

/** At `at`, a request of a prompt of its own, eight tokens, and of ten output tokens. */
function submitAt(clock: VirtualClock, engine: SimEngine, at: number, first_id: number): void {
  clock.at(at, () => {
    engine.submit(
      {
        id: `r${first_id}`,
        prompt: digestPrompt(
          Array.from({ length: 8 }, (_, i) => first_id + i),
          4,
        ),
        max_tokens: 10,
        min_tokens: 0,
        ignore_eos: true,
        chat: false,
        seed: null,
      },
      () => undefined,
    );
  });
}

describe("the watch on the engine in this process", () => {
  it("samples on a grid from t0 while there is work, and counts the idle time it leaves out", async () => {
    const { clock, engine, folder } = setUp();
    const watch = createSimWatch(engine, clock, true);
    watch.start({ folder, t0: 0, span_ms: null });
    // 0-900; waits 850 ms, 900-1800; nothing until 10 s; 10-10.9 s.
    submitAt(clock, engine, 0, 1000);
    submitAt(clock, engine, 50, 2000);
    submitAt(clock, engine, 10_000, 3000);
    await clock.runUntil(sleepUntil(clock, 12_000));
    const summary = await watch.finish();
    const rows = readFileSync(join(folder, "engine.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, number | null>);
    expect(rows.map(({ ms, running, waiting }) => [ms, running, waiting])).toEqual([
      [0, 0, 0],
      [500, 1, 1],
      [1000, 1, 0],
      [1500, 1, 0],
      [2000, 0, 0],
      [10_500, 1, 0],
      [11_000, 0, 0],
      [12_000, 0, 0],
    ]);
    // By hand: of the 24 instants 0.5 s, 1 s, ... 12 s four found a request running and one found one waiting.
    expect(summary).toMatchObject({
      engine: "sim",
      from_ms: 0,
      until_ms: 12_000,
      samples: 8,
      failed_samples: 0,
      requests: 3,
      running_max: 1,
      waiting_max: 1,
      hit_rate: 0,
      preemptions: 0,
    });
    expect(summary?.["running_mean"]).toBeCloseTo(4 / 24, 12);
    expect(summary?.["waiting_mean"]).toBeCloseTo(1 / 24, 12);
    expect(summary?.["queue_mean_ms"]).toBeCloseTo(850 / 3, 9);
    expect(summary?.["prefill_mean_ms"]).toBeCloseTo(90, 9);
    expect(summary?.["decode_mean_ms"]).toBeCloseTo(9 * 90, 9);
  });

  it("leaves a run that hangs to be found: an idle engine has no timer", async () => {
    const { clock, engine, folder } = setUp();
    const watch = createSimWatch(engine, clock, true);
    watch.start({ folder, t0: 0, span_ms: null });
    submitAt(clock, engine, 0, 1000);
    await expect(clock.runUntil(new Promise(() => undefined))).rejects.toThrow("nothing is scheduled");
  });

  it("reads what the engine's own /metrics page says", async () => {
    const { clock, engine } = setUp();
    for (const at of [0, 50, 60]) submitAt(clock, engine, at, 1000);
    await clock.run(1000);
    const page = readEngineMetrics(parsePrometheusText(renderMetrics(engine)), "vllm");
    expect(page.running).toBe(1);
    expect(page.cache_hits).toBeGreaterThan(0);
    expect(readSim(engine)).toEqual(page);
  });
});
