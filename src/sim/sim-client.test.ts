import { describe, expect, it } from "vitest";
import type { Client, ModelPrompt, ModelRequest } from "../client/client.ts";
import { VirtualClock } from "../core/virtual-clock.ts";
import type { Observation } from "../record/observation.ts";
import type { SimConfigInput } from "./config.ts";
import { createSimEngine } from "./engine.ts";
import { createSimClient, type SimClientOptions } from "./sim-client.ts";
import { countTokens, encode } from "./tokenizer.ts";

const CONFIG: SimConfigInput = {
  model: "qwen2.5-0.5b",
  gpu: "l4",
  block_size: 4,
  num_gpu_blocks: 1000,
  linear_step: { base_ms: 10, prefill_token_ms: 1, decode_seq_ms: 2 },
};
const MODEL = "sim/qwen2.5-0.5b-l4";

function request(prompt: ModelPrompt, more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    request_id: "r1",
    model: MODEL,
    prompt,
    max_tokens: 4,
    force_length: true,
    temperature: 0,
    stream: true,
    params: null,
    headers: null,
    keep_text: true,
    keep_chunks: true,
    ...more,
  };
}

const text = (value: string): ModelPrompt => ({ kind: "text", text: value });

function setup(config: SimConfigInput = {}, options: SimClientOptions = {}) {
  const clock = new VirtualClock(1000);
  const engine = createSimEngine({ ...CONFIG, ...config }, clock, 1);
  const client = createSimClient(engine, clock, options);
  const ask = (asked: ModelRequest): Promise<Observation> =>
    new Promise((resolve) => client.send(client.prepare(asked), resolve));
  return { clock, engine, client, ask };
}

describe("the in-process client", () => {
  it("cuts a request at its time limit, and leaves what ends before it alone", async () => {
    const { clock, engine, ask } = setup({}, { timeout_ms: 50 });
    const prompt = text("a b c d e f g h i j");
    // 20 ms to the first token, 12 ms for each further one.
    const cut = await clock.runUntil(ask(request(prompt)));
    expect(cut).toMatchObject({
      failure: { code: "timeout", message: "no complete response within 0.05 s" },
      end_ms: 1050,
      chunk_ms: [1020, 1032, 1044],
    });
    expect(engine.stats()).toMatchObject({ running: 0, waiting: 0 });
    const seen = await clock.runUntil(ask(request(prompt, { max_tokens: 3 })));
    expect([seen.failure, seen.chunks]).toEqual([null, 3]);
  });

  it("observes exact instants, counts and the engine's own times", async () => {
    const { clock, ask } = setup();
    const seen = await clock.runUntil(ask(request(text("a b c d e f g h i j"))));
    expect(seen).toMatchObject({
      sent_ms: 1000,
      connect_ms: 0,
      first_token_ms: 1020,
      first_output_ms: 1020,
      last_token_ms: 1056,
      end_ms: 1056,
      chunk_ms: [1020, 1032, 1044, 1056],
      chunk_tokens: [1, 1, 1, 1],
      chunks: 4,
      prompt_tokens: 10,
      prompt_tokens_source: "server",
      output_tokens: 4,
      output_tokens_source: "server",
      cached_tokens: 0,
      finish_reason: "length",
      http_status: 200,
      failure: null,
      engine: { queue_ms: 0, prefill_ms: 20, decode_ms: 36, cached_tokens: 0, source: "sim" },
    });
    expect(countTokens(seen.text ?? "")).toBe(4);
  });

  it("takes text, token ids and messages alike", async () => {
    const { clock, ask } = setup();
    const by_text = await clock.runUntil(ask(request(text("a b c d e f g h i j"))));
    const ids = [...encode("a b c d e f g h i j")];
    const by_ids = await clock.runUntil(ask(request({ kind: "ids", ids })));
    expect(by_ids).toMatchObject({ prompt_tokens: 10, cached_tokens: 8, text: by_text.text });
    const messages = [
      { role: "system", content: "be good" },
      { role: "user", content: [{ type: "text", text: "hi" }] },
    ];
    const chat = await clock.runUntil(ask(request({ kind: "messages", messages, tools: null })));
    // 2 + 1 tokens of content; roles 2 + 1; 3 for each message; 5 for the answer's head.
    expect(chat.prompt_tokens).toBe(3 + 3 + 6 + 5);
  });

  it("a live chat history hits the blocks of the answer before", async () => {
    const { clock, ask } = setup();
    const user = { role: "user", content: "look at this file and tell me what is wrong with it" };
    const first = await clock.runUntil(
      ask(
        request(
          { kind: "messages", messages: [user], tools: null },
          { force_length: false, max_tokens: 2000 },
        ),
      ),
    );
    expect(first.finish_reason).toBe("stop");
    const messages = [
      user,
      { role: "assistant", content: first.text ?? "" },
      { role: "user", content: "go on" },
    ];
    const second = await clock.runUntil(ask(request({ kind: "messages", messages, tools: null })));
    // All of prompt and answer but its last token (never computed), in blocks of 4.
    const computed = (first.prompt_tokens ?? 0) + (first.output_tokens ?? 0) - 1;
    expect(second.cached_tokens).toBe(Math.floor(computed / 4) * 4);
  });

  it("counts the end-of-sequence token, which carries no payload", async () => {
    const { clock, ask } = setup();
    const seen = await clock.runUntil(ask(request(text("go"), { force_length: false, max_tokens: 3000 })));
    expect(seen.finish_reason).toBe("stop");
    expect(seen.chunks).toBe((seen.output_tokens ?? 0) - 1);
    expect(seen.end_ms).toBe((seen.last_token_ms ?? 0) + 12);
  });

  it("without streaming tells no first token; without keeping, no chunks and no text", async () => {
    const { clock, ask } = setup();
    const whole = await clock.runUntil(ask(request(text("a"), { stream: false })));
    expect(whole).toMatchObject({ first_token_ms: null, last_token_ms: null, chunks: 0, chunk_tokens: null });
    expect(whole).toMatchObject({ output_tokens: 4, end_ms: 1047 });
    const bare = await clock.runUntil(ask(request(text("a"), { keep_chunks: false, keep_text: false })));
    expect(bare).toMatchObject({ chunk_ms: [], chunk_tokens: null, chunks: 4, text: null });
    expect(bare.first_token_ms).not.toBe(null);
  });

  it("fails what a server would refuse, later than the call", async () => {
    const { clock, ask, client } = setup({ max_model_len: 100 });
    const cases: readonly [Partial<ModelRequest>, number, RegExp][] = [
      [{ model: "gpt-4" }, 404, /`gpt-4` does not exist/],
      [{ max_tokens: 0, force_length: false }, 400, /max_tokens must be at least 1/],
      [{ max_tokens: 98 }, 400, /maximum context length is 100 tokens.*101 tokens \(3 in the prompt/],
      [{ params: { n: 2 } }, 400, /n must be 1/],
      [{ params: { temperature: -1 } }, 400, /temperature/],
      [{ prompt: { kind: "messages", messages: [], tools: null } }, 400, /at least one message/],
      [{ prompt: { kind: "ids", ids: [-1] } }, 400, /token ids/],
      [{ prompt: text("") }, 400, /cannot be empty/],
    ];
    for (const [more, status, message] of cases) {
      const seen = await clock.runUntil(ask(request(text("a b c"), more)));
      expect(seen.http_status).toBe(status);
      expect(seen.failure).toMatchObject({ code: "http_4xx", http_status: status });
      expect(seen.failure?.message).toMatch(message);
      expect(seen.output_tokens).toBe(null);
    }
    let done = false;
    client.send(client.prepare(request(text("a"), { model: "x" })), () => (done = true));
    expect(done).toBe(false);
  });

  it("cancels: what was seen so far, once, and the engine lets go", async () => {
    const { clock, client, engine } = setup();
    const ends: Observation[] = [];
    const cut = client.send(client.prepare(request(text("a"), { max_tokens: 50 })), (seen) =>
      ends.push(seen),
    );
    clock.at(1030, () => cut.cancel("timeout", "too slow"));
    clock.at(1031, () => cut.cancel("aborted", "again"));
    await clock.run();
    expect(ends).toHaveLength(1);
    // Tokens at 1011 and 1023.
    expect(ends[0]).toMatchObject({
      chunks: 2,
      output_tokens: 2,
      end_ms: 1030,
      failure: { code: "timeout" },
    });
    expect(engine.stats()).toMatchObject({ running: 0, kv_usage: 0 });
  });

  it("injects the same faults as the server", async () => {
    const code = async (faults: SimConfigInput["faults"], asks: number): Promise<(string | undefined)[]> => {
      const { clock, ask } = setup({ faults });
      const codes = [];
      for (let i = 0; i < asks; i++) {
        const seen = await clock.runUntil(ask(request(text("a"))));
        codes.push(seen.failure?.code);
      }
      return codes;
    };
    expect(await code({ first_failures: 2 }, 3)).toEqual(["http_5xx", "http_5xx", undefined]);
    expect(await code({ fail_rate: 1, fail_status: 429 }, 1)).toEqual(["http_429"]);
    expect(await code({ crash_after: 1 }, 3)).toEqual([undefined, "connect", "connect"]);

    const { clock, ask, engine } = setup({
      faults: { truncate_rate: 1, truncate_after_tokens: 2, slow_start_ms: 500 },
    });
    const cut = await clock.runUntil(ask(request(text("a"))));
    expect(cut).toMatchObject({
      failure: { code: "truncated" },
      sent_ms: 1000,
      first_token_ms: 1511,
      chunks: 2,
    });
    expect([cut.end_ms, cut.finish_reason, engine.stats().running]).toEqual([1523, null, 0]);

    const late = setup({ startup_ms: 100 });
    expect((await late.clock.runUntil(late.ask(request(text("a"))))).failure?.http_status).toBe(503);
    await late.clock.run(1100);
    expect((await late.clock.runUntil(late.ask(request(text("a"))))).failure).toBe(null);
  });

  it("a crash cuts what is open", async () => {
    const { clock, client } = setup({ faults: { crash_after: 1 } });
    const codes: (string | undefined)[] = [];
    send(client, (seen) => codes.push(seen.failure?.code));
    clock.at(1030, () => send(client, (seen) => codes.push(seen.failure?.code)));
    await clock.run();
    expect(codes).toEqual(["reset", "connect"]);
  });

  it("tells a listener the first token and each chunk; closing cuts what is open", async () => {
    const { clock, client } = setup();
    const heard: string[] = [];
    const finished: string[] = [];
    client.send(client.prepare(request(text("a"))), (seen) => finished.push(seen.failure?.code ?? "ok"), {
      onFirstToken: (at) => heard.push(`first ${at}`),
      onChunk: (at) => heard.push(`chunk ${at}`),
    });
    await clock.run();
    expect(heard).toEqual(["first 1011", "chunk 1011", "chunk 1023", "chunk 1035", "chunk 1047"]);
    send(client, (seen) => finished.push(seen.failure?.code ?? "ok"));
    await client.close();
    await clock.run();
    expect(finished).toEqual(["ok", "aborted"]);
  });
});

function send(client: Client, done: (seen: Observation) => void): void {
  client.send(client.prepare(request(text("b"))), done);
}
