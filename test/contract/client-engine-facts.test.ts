/** What engines tell of one request inside the OpenAI protocols, several choices, and odd but legal events. */
import { describe, expect, it } from "vitest";
import { C, DONE, event, FIN, R, U, usage } from "../stub/events.ts";
import { observe, observeChat } from "../stub/observe.ts";

describe("the engine's own facts", () => {
  it("FastDeploy: arrival_time in seconds since inference began", async () => {
    const seen = await observeChat([
      [10, C({ role: "assistant", content: "" })],
      [300, C({ content: "A" }, { arrival_time: 0.25 })],
      [340, C({ content: "B" }, { arrival_time: 0.29 })],
      [
        380,
        C({ content: "C" }, { arrival_time: 0.33, finish_reason: "stop" }) +
          U(3, { prompt_tokens_details: { cached_tokens: 6 } }) +
          DONE,
      ],
    ]);
    expect(seen.engine).toMatchObject({
      queue_ms: null,
      prefill_ms: 250,
      cached_tokens: null,
      source: "fastdeploy arrival_time",
      arrival_s: [0.25, 0.29, 0.33],
    });
    expect(seen.engine?.decode_ms).toBeCloseTo(80, 9);
    expect([seen.cached_tokens, seen.prompt_tokens]).toEqual([6, 7]);
  });

  it("llama.cpp: timings, which also count where usage was not sent", async () => {
    const timings = { cache_n: 100, prompt_n: 28, prompt_ms: 31.5, predicted_n: 2, predicted_ms: 20.25 };
    const seen = await observe([
      [10, R("A")],
      [30, R("B")],
      [31, event({ choices: [{ index: 0, text: "", finish_reason: "length" }], timings }) + DONE],
    ]);
    expect(seen).toMatchObject({
      prompt_tokens: 128,
      output_tokens: 2,
      cached_tokens: 100,
      output_tokens_source: "server",
    });
    expect(seen.engine).toEqual({
      queue_ms: null,
      prefill_ms: 31.5,
      decode_ms: 20.25,
      cached_tokens: 100,
      source: "llama.cpp timings",
    });
  });

  it("vLLM: metrics of the request, prefill from the instant it was scheduled", async () => {
    const metrics = {
      time_to_first_token_ms: 85.5,
      generation_time_ms: 20,
      queue_time_ms: 12.25,
      mean_itl_ms: 20,
    };
    const seen = await observe([
      [10, R("A")],
      [30, R("B") + FIN("length")],
      [31, event({ choices: [], usage: usage(2), metrics }) + DONE],
    ]);
    expect(seen.engine).toEqual({
      queue_ms: 12.25,
      prefill_ms: 85.5,
      decode_ms: 20,
      cached_tokens: null,
      source: "vllm metrics",
    });
  });

  it("the simulator: exact queue, prefill and decode times", async () => {
    const seen = await observe([
      [
        10,
        R("A") +
          FIN("stop") +
          event({
            choices: [],
            usage: usage(1),
            reprise_sim: { queue_ms: 3, prefill_ms: 5, decode_ms: 0, cached_tokens: 0 },
          }) +
          DONE,
      ],
    ]);
    expect(seen.engine).toEqual({
      queue_ms: 3,
      prefill_ms: 5,
      decode_ms: 0,
      cached_tokens: 0,
      source: "sim",
    });
  });

  it("a server that says nothing", async () => {
    expect((await observe([[10, R("A") + FIN("stop") + DONE]])).engine).toBeNull();
  });

  it("times that cannot be times are not taken: the server's clock stepped back", async () => {
    const metrics = { queue_time_ms: -12.25, time_to_first_token_ms: 85.5, generation_time_ms: -1 };
    const seen = await observe([
      [10, R("A") + FIN("stop") + event({ choices: [], usage: usage(1), metrics }) + DONE],
    ]);
    expect(seen.engine).toMatchObject({ queue_ms: null, prefill_ms: 85.5, decode_ms: null });
    const back = await observe([
      [10, R("A", { arrival_time: 2 }) + R("B", { arrival_time: 1.5 }) + FIN("stop") + DONE],
    ]);
    expect(back.engine).toMatchObject({ prefill_ms: 2000, decode_ms: 0 });
  });

  it("counts that cannot be counts are not taken", async () => {
    const seen = await observe([
      [
        10,
        R("A") +
          FIN("stop") +
          event({ choices: [], usage: { prompt_tokens: -1, completion_tokens: "3" } }) +
          DONE,
      ],
    ]);
    expect([seen.prompt_tokens, seen.output_tokens, seen.output_tokens_source]).toEqual([null, 1, "chunks"]);
  });
});

describe("several choices", () => {
  const choice = (index: number, text: string, more: object = {}): string =>
    event({ choices: [{ index, text, ...more }] });

  it("all count for times, the first one is the text, all must finish", async () => {
    const seen = await observe([
      [100, choice(1, "x")],
      [110, choice(0, "A")],
      [120, choice(1, "y", { finish_reason: "length" })],
      [130, choice(0, "B", { finish_reason: "stop" }) + U(4) + DONE],
    ]);
    expect([seen.failure, seen.text, seen.finish_reason, seen.chunk_ms, seen.output_tokens]).toEqual([
      null,
      "AB",
      "stop",
      [100, 110, 120, 130],
      4,
    ]);
  });

  it("one that does not finish leaves the answer truncated", async () => {
    const seen = await observe([
      [100, choice(0, "A") + choice(1, "x")],
      [110, choice(0, "", { finish_reason: "stop" })],
    ]);
    expect(seen.failure?.code).toBe("truncated");
  });
});

describe("odd but legal", () => {
  it.each([
    ["choices null", event({ choices: null })],
    ["a delta of null", event({ choices: [{ index: 0, delta: null }] })],
    ["no delta", event({ choices: [{ index: 0 }] })],
    ["an event of another kind", event({ object: "metrics", value: 1 })],
    ["a prompt filter result", event({ choices: [], prompt_filter_results: [{}] })],
    ["usage null", event({ choices: [{ index: 0, delta: {} }], usage: null })],
    ["unknown fields", event({ choices: [{ index: 0, delta: { foo: { bar: 1 } } }] })],
  ])("%s is no token and no error", async (_name, odd) => {
    const seen = await observeChat([
      [5, odd],
      [100, C({ content: "A" })],
      [110, odd],
      [120, FIN("stop") + U(1) + DONE],
    ]);
    expect([seen.failure, seen.first_token_ms, seen.chunks, seen.text]).toEqual([null, 100, 1, "A"]);
  });

  it("a refusal is payload and text", async () => {
    const seen = await observeChat([
      [50, C({ refusal: "I cannot" })],
      [60, FIN("stop") + DONE],
    ]);
    expect([seen.failure, seen.first_output_ms, seen.text]).toEqual([null, 50, "I cannot"]);
  });
});
