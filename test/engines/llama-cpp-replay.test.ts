/** Whole replays against a real llama.cpp server, through the command line. Skipped, and said so, where it is not set up. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RealClock } from "../../src/core/real-clock.ts";
import type { RequestRecord } from "../../src/record/request-record.ts";
import { readEngineMetrics } from "../../src/server/engine-metrics.ts";
import { createHttpCall } from "../../src/server/http-call.ts";
import { parsePrometheusText } from "../../src/server/prometheus-text.ts";
import { cli, readJsonLines, scratch, traceFile, type CliOptions, type CliResult } from "../cli/run-cli.ts";
import { llamaCppIsThere, startLlamaCpp, type RunningLlamaCpp } from "./llama-cpp-server.ts";

interface Replayed extends CliResult {
  readonly records: readonly RequestRecord[];
  readonly folder: string;
}

describe.skipIf(!llamaCppIsThere())("replays against llama.cpp", () => {
  const clock = new RealClock();
  const call = createHttpCall(clock, 10_000);
  let server: RunningLlamaCpp;
  beforeAll(async () => {
    server = await startLlamaCpp(clock, call);
  }, 90_000);
  afterAll(() => server?.end());

  async function replay(
    rows: readonly object[],
    words: readonly string[],
    options: CliOptions = {},
  ): Promise<Replayed> {
    const folder = join(scratch(), "run");
    const url = server.command.base_url;
    const done = await cli(
      ["replay", traceFile(rows), "--base-url", url, "--out", folder, "--max-lateness", "10s", ...words],
      options,
    );
    if (!existsSync(folder)) throw new Error(done.stderr);
    return { ...done, folder, records: readJsonLines(join(folder, "records.jsonl")) as never };
  }
  const summaryOf = ({ folder }: Replayed) => JSON.parse(readFileSync(join(folder, "summary.json"), "utf8"));

  /** Requests by themselves: prompts and answers of these lengths. */
  const lengths = (...pairs: readonly (readonly [prompt: number, output: number])[]): object[] =>
    pairs.map(([prompt_tokens, output], index) => ({
      request_id: `r${index}`,
      job_id: `j${index}`,
      arrival_ms: 0,
      prompt_tokens,
      max_tokens: output,
      expected_output_tokens: output,
    }));

  it("prompts and answers have the planned lengths, no connection is lost, the server's own times fit in ours", async () => {
    const rows = lengths(
      ...Array.from({ length: 24 }, (_, i): [number, number] => [20 + 37 * (i % 8), 5 + 11 * (i % 3)]),
    );
    const run = await replay(rows, ["--max-concurrency", "2", "--engine-metrics", "auto"]);
    expect(run.code, run.stderr).toBe(0);
    expect(run.records).toHaveLength(24);
    for (const record of run.records) {
      expect([record.status, record.finish_reason]).toEqual(["ok", "length"]);
      // The server puts one token, the beginning of the text, before every prompt.
      expect((record.prompt_tokens ?? 0) - (record.planned_prompt_tokens ?? 0)).toBe(1);
      expect([record.output_tokens, record.chunks]).toEqual([
        record.planned_output_tokens,
        record.output_tokens,
      ]);
      const { engine, sent_ms, first_token_ms, end_ms } = record;
      expect(engine?.source).toBe("llama.cpp timings");
      const [ttft, whole] = [(first_token_ms ?? 0) - (sent_ms ?? 0), (end_ms ?? 0) - (sent_ms ?? 0)];
      // Its clock starts when the prompt is taken up and stops with the last token: ours starts before and stops after.
      expect(ttft).toBeGreaterThan((engine?.prefill_ms ?? NaN) - 1);
      expect(whole).toBeGreaterThan((engine?.prefill_ms ?? NaN) + (engine?.decode_ms ?? NaN) - 1);
    }
    // What it counted over the run is what it told of the single requests.
    const samples = readJsonLines(join(run.folder, "engine.jsonl"));
    const gained = (key: string): number => Number(samples.at(-1)?.[key]) - Number(samples[0]?.[key]);
    const sum = (of: (record: RequestRecord) => number | null): number =>
      run.records.reduce((all, record) => all + (of(record) ?? 0), 0);
    expect(gained("cache_queries")).toBe(sum((record) => record.prompt_tokens));
    expect(gained("cache_hits")).toBe(sum((record) => record.cached_tokens));
    expect(summaryOf(run).engine).toMatchObject({
      engine: "llama-cpp",
      failed_samples: 0,
      hit_rate: gained("cache_hits") / gained("cache_queries"),
    });
    const { target } = JSON.parse(readFileSync(join(run.folder, "manifest.json"), "utf8"));
    expect(target.server).toMatchObject({ engine: "llama-cpp", slots: 2, model_entry: { id: "tiny.gguf" } });
  });

  it("the turns of a job find their history in the cache", async () => {
    const said = (count: number) => "the quick brown fox and the lazy dog ".repeat(count);
    const first = [{ role: "user", content: said(8) }];
    const second = [...first, { role: "assistant", content: "the fox" }, { role: "user", content: said(2) }];
    const turn = (id: string, messages: object[], parents: string[]): object => ({
      request_id: id,
      job_id: "talk",
      messages,
      after: parents,
      max_tokens: 6,
      expected_output_tokens: 6,
    });
    const run = await replay([turn("a", first, []), turn("b", second, ["a"])], []);
    expect(run.code, run.stderr).toBe(0);
    const [one, two] = run.records;
    expect(two?.prompt_tokens).toBeGreaterThan(one?.prompt_tokens ?? Infinity);
    expect(two?.cached_tokens).toBeGreaterThan((one?.prompt_tokens ?? Infinity) / 2);
    expect(summaryOf(run).prefix_cache).toMatchObject({ source: "requests" });
  });

  it("what waits for one of two slots waits in the engine, by its own times", async () => {
    const run = await replay(lengths([400, 60], [400, 60], [400, 60], [400, 60]), ["--max-concurrency", "4"]);
    expect(run.code, run.stderr).toBe(0);
    const firstEnd = Math.min(...run.records.map(({ end_ms }) => end_ms ?? Infinity));
    const lateStarts = run.records.filter(({ first_token_ms }) => (first_token_ms ?? 0) > firstEnd);
    expect(lateStarts.length).toBeGreaterThanOrEqual(2);
    for (const { sent_ms, first_token_ms, engine } of lateStarts) {
      const queued = (first_token_ms ?? 0) - (sent_ms ?? 0) - (engine?.prefill_ms ?? NaN);
      expect(queued).toBeGreaterThan((firstEnd - (sent_ms ?? 0)) / 2);
    }
  });

  it("a prompt that does not fit is a failure with the server's reason; the others are measured", async () => {
    const run = await replay(lengths([50, 5], [3000, 5], [50, 5]), ["--max-concurrency", "1"]);
    expect(run.code, run.stderr).toBe(1);
    const failed = run.records.filter(({ status }) => status === "failed");
    expect(failed.map(({ request_id, failure }) => [request_id, failure?.http_status])).toEqual([
      ["r1", 400],
    ]);
    expect(failed[0]?.failure?.message).toContain("context size");
    expect(run.records.filter(({ status }) => status === "ok")).toHaveLength(2);
  });

  it("a budget of twice the unloaded time is told for every job, after a calibration pass", async () => {
    const run = await replay(lengths([60, 10], [90, 10], [120, 10]), ["--calibrate", "--job-budget", "50x"]);
    expect(run.code, run.stderr).toBe(0);
    expect(readJsonLines(join(run.folder, "calibration.jsonl"))).toHaveLength(3);
    expect(summaryOf(run).jobs).toMatchObject({ counts: { ok: 3, over_budget: 0 }, budget_miss_rate: 0 });
  });

  it("two interrupts end the run, and nothing runs on in the server", async () => {
    let sent = 0;
    const run = await replay(
      lengths(...Array.from({ length: 40 }, (): [number, number] => [50, 1500])),
      ["--max-concurrency", "4"],
      {
        onStderr: (all, kill) => {
          if (sent === 0 && all.includes("run folder")) {
            sent++;
            setTimeout(() => kill("SIGINT"), 300);
          } else if (sent === 1 && all.includes("stopping")) {
            sent++;
            kill("SIGINT");
          }
        },
      },
    );
    expect(run.code, run.stderr).toBe(130);
    expect(run.records.filter(({ status }) => status === "failed")).toEqual([]);
    expect(run.records.some(({ status }) => status === "cancelled")).toBe(true);
    for (;;) {
      const page = await call("GET", server.command.metrics_url ?? "");
      const { running, waiting } = readEngineMetrics(parsePrometheusText(page.body), "llama-cpp");
      if (running === 0 && waiting === 0) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
});
