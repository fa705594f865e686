/** What a replay says of its own faithfulness: planned and measured hit shares, what was overridden, live history. */
import { existsSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { replay } from "../../src/cli/commands/replay.ts";
import { RealClock } from "../../src/core/real-clock.ts";
import { startSimServer, type SimServer } from "../../src/sim/index.ts";
import { scratch, traceFile } from "../cli/run-cli.ts";
import { recordsOf, runCommand, summaryOf } from "../support/run-command.ts";
import { exactRun, turn } from "./exact-run.ts";

const DATA = fileURLToPath(new URL("../../../shared/data", import.meta.url));

async function unloaded(trace: string): Promise<ReturnType<typeof summaryOf>> {
  const sim = ["--sim", "num_gpu_blocks=1000000", "--sim", 'linear_step={"base_ms":1}'];
  const words = [trace, "--backend", "sim", "--virtual-time", ...sim, "-q", "--json"];
  const { code, out, err } = await runCommand(replay, [...words, "--out", join(scratch(), "run")]);
  if (code !== 0) throw new Error(err);
  return summaryOf(out);
}

describe("prefix hits on an unloaded server", () => {
  it("Mooncake, 512 tokens a block", async () => {
    const row = (timestamp: number, input_length: number, hash_ids: number[]): object => ({
      timestamp,
      input_length,
      output_length: 4,
      hash_ids,
    });
    const { prefix_cache: cache } = await unloaded(
      traceFile([row(0, 1024, [1, 2]), row(9000, 1300, [1, 2, 3]), row(18_000, 1300, [1, 2, 4])]),
    );
    expect(cache.optimal_hit_rate).toBeCloseTo(2048 / 3624, 12);
    expect(cache.hit_rate).toBeCloseTo(2048 / 3624, 12);
  });

  it("Bailian, 16 tokens a block, turns by parent", async () => {
    const row = (
      chat_id: number,
      parent_chat_id: number,
      input_length: number,
      hash_ids: number[],
    ): object => ({
      chat_id,
      parent_chat_id,
      timestamp: chat_id * 10.5,
      input_length,
      output_length: 4,
      type: "text",
      turn: chat_id,
      hash_ids,
    });
    const { prefix_cache: cache } = await unloaded(
      traceFile([row(1, -1, 40, [7, 8, 9]), row(2, 1, 64, [7, 8, 10, 11]), row(3, -1, 33, [7, 8, 12])]),
    );
    expect(cache.optimal_hit_rate).toBeCloseTo(64 / 137, 12);
    expect(cache.hit_rate).toBeCloseTo(64 / 137, 12);
  });

  it("Weka, 64 tokens a block, floor, ids local to the file", async () => {
    const session = {
      id: "s",
      models: ["m"],
      block_size: 64,
      hash_id_scope: "local",
      tool_tokens: 0,
      system_tokens: 0,
      requests: [
        { t: 0, type: "n", model: "m", in: 200, out: 5, hash_ids: [1, 2, 3], stop: "end_turn", api_time: 1 },
        { t: 5, type: "n", model: "m", in: 330, out: 5, hash_ids: [1, 2, 3, 4, 5], stop: "", think_time: 4 },
      ],
    };
    const path = join(scratch(), "w.json");
    writeFileSync(path, JSON.stringify(session));
    const { prefix_cache: cache } = await unloaded(path);
    expect(cache.optimal_hit_rate).toBeCloseTo(192 / 530, 12);
    expect(cache.hit_rate).toBeCloseTo(192 / 530, 12);
  });

  it("Dynamo's rows, ids above 2^53", async () => {
    const row = (request_id: string, rest: object, hash_ids: string): string =>
      `${JSON.stringify({ request_id, session_id: "s", input_length: 128, output_length: 4, ...rest }).slice(0, -1)},"hash_ids":${hash_ids}}\n`;
    const path = join(scratch(), "d.jsonl");
    // The second ids differ in their last digit only, which a double cannot hold.
    writeFileSync(
      path,
      row("a", { timestamp: 0 }, "[18446744073709551610,18446744073709551611]") +
        row("b", { wait_for: ["a"], delay: 10 }, "[18446744073709551610,18446744073709551612]") +
        row("c", { wait_for: ["b"], delay: 10 }, "[18446744073709551610,18446744073709551611]"),
    );
    const { prefix_cache: cache, run } = await unloaded(path);
    expect(run.pacing).toBe("jobs");
    expect(cache.optimal_hit_rate).toBeCloseTo((64 + 128) / 384, 12);
    // A server computes the last token even of a prompt that it has seen whole: one block of 16.
    expect(cache.hit_rate).toBeCloseTo((64 + 112) / 384, 12);
  });

  for (const sample of [
    "aiperf/aiperf_mooncake_sessions.jsonl",
    "weka/trace_0021.json",
    "tracelab/sanitized",
  ]) {
    it.runIf(existsSync(join(DATA, sample)))(`${sample}: the optimum, to within a block a turn`, async () => {
      const { prefix_cache: cache, requests, counts, fidelity } = await unloaded(join(DATA, sample));
      expect(requests.ttft.n).toBe(counts.ok);
      const prompt = (fidelity.prompt_tokens.achieved_mean as number) * counts.ok;
      expect(cache.optimal_hit_rate).toBeGreaterThan(0.5);
      expect(cache.shortfall as number).toBeGreaterThanOrEqual(0);
      expect((cache.shortfall as number) * prompt).toBeLessThanOrEqual(16 * counts.ok);
      expect(fidelity.prompt_tokens.bias_tokens).toBe(0);
      expect(fidelity.output_tokens.bias_tokens).toBe(0);
    });
  }
});

describe("what was overridden", () => {
  const rows = [
    turn("a", "j", 4, { arrival_ms: 0, after: [] }),
    turn("b", "j", 4, { after: ["a"], think_ms: 5000 }),
    turn("c", "k", 4, { arrival_ms: 1000 }),
  ];
  const origins = async (...flags: string[]): Promise<Readonly<Record<string, string>>> =>
    (await exactRun(rows, flags)).summary.fidelity.provenance;

  it("is said property by property", async () => {
    expect(await origins()).toEqual({
      arrivals: "recorded",
      order: "recorded",
      think_time: "recorded",
      prompt_text: "made up",
      prompt_length: "recorded",
      prefix_sharing: "missing",
      output_length: "recorded",
      sampling: "made up",
    });
    expect((await origins("--speed", "2"))["arrivals"]).toBe("recorded, scaled");
    expect((await origins("--arrival-rate", "1"))["arrivals"]).toBe("recorded, scaled");
    expect((await origins("--arrival-rate", "1", "--arrival-type", "poisson"))["arrivals"]).toBe("made up");
    expect((await origins("--pacing", "closed"))["arrivals"]).toBe("replaced");
    expect((await origins("--copies", "2"))["arrivals"]).toBe("replaced");
    expect((await origins("--think-scale", "0.5"))["think_time"]).toBe("recorded, scaled");
    expect((await origins("--max-gap", "1s"))["think_time"]).toBe("recorded, capped");
    expect((await origins("--max-gap", "10s"))["think_time"]).toBe("recorded");
    expect((await origins("--output", "free"))["output_length"]).toBe("left free");
    expect((await origins("--output-length", "3"))["output_length"]).toBe("made up");
    expect(await origins("--input-length", "30")).toMatchObject({
      prompt_length: "made up",
      prompt_text: "made up",
      prefix_sharing: "made up",
    });
  });
});

describe("--history", () => {
  const system = { role: "system", content: "You are an agent. ".repeat(20) };
  const user = { role: "user", content: "List the files." };
  const call = { id: "c1", type: "function", function: { name: "ls", arguments: "{}" } };
  const said = { role: "assistant", content: "Recorded.", reasoning_content: "Hm.", tool_calls: [call] };
  const result = { role: "tool", tool_call_id: "c1", content: "one two three" };
  const chat = (id: string, messages: object[], told: object): object => ({
    request_id: id,
    job_id: "j",
    messages,
    max_tokens: 40,
    expected_output_tokens: 40,
    ...told,
  });
  const rows = [
    chat("a", [system, user], { arrival_ms: 0, after: [] }),
    chat("b", [system, user, said, result], { after: ["a"], think_ms: 1 }),
  ];
  let server: SimServer;
  beforeAll(async () => {
    const config = { linear_step: { base_ms: 1 } };
    server = await startSimServer({ config, host: "127.0.0.1", port: 0, clock: new RealClock(), seed: 1 });
  });
  afterAll(() => server.close());

  it("live puts the server's own answer into the next prompt, tool calls kept: its tokens are hits", async () => {
    const trace = traceFile(rows);
    const run = async (history: string): Promise<Map<string, { prompt: number; cached: number }>> => {
      const out = join(scratch(), "run");
      const words = [trace, "--base-url", server.url, "--backend", "openai-chat", "--history", history, "-q"];
      const { code } = await runCommand(replay, [...words, "--json", "--out", out]);
      expect(code).toBe(0);
      return new Map(
        [...recordsOf(out)].map(([id, record]) => [
          id,
          { prompt: record.prompt_tokens as number, cached: record.cached_tokens as number },
        ]),
      );
    };
    const recorded = await run("recorded");
    const live = await run("live");
    const first = live.get("a")?.prompt as number;
    // Recorded: only what stood before the answer is known to the server. Live: the 40 tokens of the answer, too.
    expect(recorded.get("b")?.cached).toBe(Math.floor(first / 16) * 16);
    expect(live.get("b")?.cached).toBe(Math.floor((first + 39) / 16) * 16);
    expect(live.get("b")?.prompt).toBeGreaterThan(first + 40);
  });

  it("live is refused where there is no history to put answers into", async () => {
    await expect(exactRun([turn("a", "j", 1, { arrival_ms: 0 })], ["--history", "live"])).rejects.toThrow(
      "--history live: the trace holds no messages",
    );
  });
});
