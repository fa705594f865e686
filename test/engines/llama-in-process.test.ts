/**
 * llama.cpp in the process, by a real node-llama-cpp and a tiny random model; skipped, and said so, where they are not set up
 * (node scripts/engines/node-llama-cpp.mjs).
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import type { ModelRequest } from "../../src/client/client.ts";
import { createEngineClient, type EngineClient } from "../../src/client/engines/engine-client.ts";
import { type LlamaEngine, openLlamaEngine } from "../../src/client/engines/llama-cpp/llama-engine.ts";
import { llamaSettings } from "../../src/client/engines/llama-cpp/llama-settings.ts";
import { RealClock } from "../../src/core/real-clock.ts";
import type { Observation } from "../../src/record/observation.ts";
import { describeClientContract } from "../contract/client-contract.ts";
import { modelRequest } from "../stub/observe.ts";

const engines = join(dirname(fileURLToPath(import.meta.url)), "..", "..", ".cache", "engines");
const library = join(engines, "node-llama-cpp");
const gguf = join(engines, "tiny.gguf");
const there = existsSync(join(library, "node_modules", "node-llama-cpp")) && existsSync(gguf);
if (!there)
  console.warn(
    "node-llama-cpp is not set up, its tests are skipped: node scripts/engines/node-llama-cpp.mjs",
  );

const clock = new RealClock();
const open = (settings: Record<string, string> = {}): Promise<LlamaEngine> =>
  openLlamaEngine(
    gguf,
    llamaSettings({ library, context_size: "2048", sequences: "2", threads: "1", gpu: "off", ...settings }),
    { clock, warn: (text) => console.warn(text) },
  );

describe("settings of llama-cpp", () => {
  it("are checked, with the nearest name", () => {
    expect(llamaSettings({ "context-size": "4096", gpu_layers: "max", prefix_cache: "false" })).toMatchObject(
      {
        context_size: 4096,
        gpu_layers: "max",
        prefix_cache: false,
        sequences: 8,
      },
    );
    expect(() => llamaSettings({ sequence: "3" })).toThrow(/no setting "sequence"/);
    expect(() => llamaSettings({ sequences: "0" })).toThrow(/"0" is not a whole number from 1 to 256/);
    expect(() => llamaSettings({ gpu: "rocm" })).toThrow(/not one of auto, off/);
  });

  it("without the library, the install command", async () => {
    const options = { clock, warn: () => undefined };
    await expect(
      openLlamaEngine(gguf, llamaSettings({ library: "/no/such" }), options),
    ).rejects.toMatchObject({
      message: "--engine library=/no/such: node-llama-cpp is not installed there",
      hint: "npm install node-llama-cpp@3.21.1 (with -g where reprise is global)",
      exitCode: 2,
    });
  });
});

describe.skipIf(!there)("llama.cpp in the process", () => {
  const clients: EngineClient[] = [];
  afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())));
  const clientOf = (engine: LlamaEngine, timeoutMs: number | null = null): EngineClient => {
    const client = createEngineClient(engine, { clock, timeoutMs });
    clients.push(client);
    return client;
  };
  const ask = (client: EngineClient, more: Partial<ModelRequest> = {}): Promise<Observation> =>
    new Promise((resolve) =>
      client.send(
        client.prepare(
          modelRequest({ model: "tiny", max_tokens: 8, force_length: true, temperature: 0, ...more }),
        ),
        resolve,
      ),
    );
  const ids = (length: number, from: number): number[] =>
    Array.from({ length }, (_, at) => 300 + ((at * 7 + from) % 240));

  it("prompts of every kind have the length that the model's tokenizer gives", async () => {
    const engine = await open();
    const client = clientOf(engine);
    expect(engine.facts).toMatchObject({
      engine: "llama.cpp",
      max_num_seqs: 2,
      max_model_len: 2048,
      gpu: "none",
    });
    const text = "the cat sat on the mat and is in the hat";
    const { tokenizer } = engine;
    const byText = await ask(client, { prompt: { kind: "text", text } });
    expect(byText.prompt_tokens).toBe(tokenizer.count(text) + 1);
    expect(tokenizer.overhead_tokens).toBe(1);
    expect(tokenizer.decode(tokenizer.encode(text)).trim()).toBe(text);
    const byIds = await ask(client, { prompt: { kind: "ids", ids: [1, ...tokenizer.encode(text)] } });
    expect([byIds.prompt_tokens, byIds.text]).toEqual([byText.prompt_tokens, byText.text]);
    const messages = [{ role: "user", content: [{ type: "text", text }] }];
    const chat = await ask(client, { prompt: { kind: "messages", messages, tools: null } });
    expect(chat.prompt_tokens).toBe(tokenizer.count(`user: ${text}\nassistant:`) + 1);
  });

  it("a prompt that is there already is taken over but for its last token; another, or no cache, is not", async () => {
    const client = clientOf(await open());
    const long = ids(700, 0);
    const first = await ask(client, { prompt: { kind: "ids", ids: long } });
    expect([first.cached_tokens, first.output_tokens]).toEqual([0, 8]);
    const again = await ask(client, { prompt: { kind: "ids", ids: long } });
    expect([again.cached_tokens, again.text]).toEqual([699, first.text]);
    expect(again.engine).toMatchObject({
      cached_tokens: 699,
      source: "node-llama-cpp, timed in this process",
    });
    // Half of it is the same: the sequence that holds it is chosen, though the other has been idle for longer.
    const half = await ask(client, { prompt: { kind: "ids", ids: [...long.slice(0, 350), ...ids(300, 3)] } });
    expect(half.cached_tokens).toBe(350);
    const other = await ask(client, { prompt: { kind: "ids", ids: ids(700, 5) } });
    expect(other.cached_tokens).toBe(0);
    const without = clientOf(await open({ prefix_cache: "false" }));
    const [a, b] = [
      await ask(without, { prompt: { kind: "ids", ids: long } }),
      await ask(without, { prompt: { kind: "ids", ids: long } }),
    ];
    expect([a.cached_tokens, b.cached_tokens, b.text]).toEqual([0, 0, a.text]);
  });

  it("more requests than sequences wait in line, in order, and are all answered", async () => {
    const client = clientOf(await open());
    const seen = await Promise.all(
      Array.from({ length: 7 }, (_, at) =>
        ask(client, { prompt: { kind: "ids", ids: ids(50, at) }, max_tokens: 30 }),
      ),
    );
    expect(seen.map((one) => [one.failure, one.output_tokens, one.chunks])).toEqual(
      seen.map(() => [null, 30, 30]),
    );
    const queues = seen.map((one) => one.engine?.queue_ms as number);
    expect(queues.slice(0, 2).every((ms) => ms < Math.min(...queues.slice(2)))).toBe(true);
    const firsts = seen.map((one) => one.first_token_ms as number);
    expect(firsts.slice(2)).toEqual(firsts.slice(2).sort((a, b) => a - b));
    for (const one of seen) {
      const { queue_ms, prefill_ms, decode_ms } = one.engine ?? {};
      const inside = (queue_ms as number) + (prefill_ms as number) + (decode_ms as number);
      expect(inside).toBeCloseTo(one.end_ms - (one.sent_ms as number), 3);
    }
  });

  it("one that is given up in line or at work frees its place", async () => {
    const client = clientOf(await open({ sequences: "1" }));
    const codes: (string | undefined)[] = [];
    const send = (more: Partial<ModelRequest>, onFirst?: () => void): ReturnType<EngineClient["send"]> =>
      client.send(
        client.prepare(modelRequest({ model: "m", force_length: true, ...more })),
        (seen) => codes.push(seen.failure?.code),
        onFirst === undefined ? undefined : { onFirstToken: onFirst },
      );
    const running = send({ max_tokens: 1900 }, () => {
      waiting.cancel("timeout", "too long in line");
      running.cancel("aborted", "enough");
    });
    const waiting = send({ max_tokens: 1900 });
    expect((await ask(client)).failure).toBeNull();
    expect(new Set(codes)).toEqual(new Set(["aborted", "timeout"]));
    const limited = clientOf(await open({ sequences: "1" }), 30);
    const late = await ask(limited, { max_tokens: 1900 });
    expect(late.failure).toMatchObject({ code: "timeout" });
  });

  it("what does not fit or is not known is refused, or told of", async () => {
    const client = clientOf(await open());
    const long = await ask(client, { prompt: { kind: "ids", ids: ids(2045, 0) } });
    expect(long.failure).toMatchObject({ code: "http_4xx", http_status: 400 });
    expect(long.failure?.message).toMatch(
      /2045 tokens of prompt and 8 of output do not fit into the context of 2048/,
    );
    const exact = await ask(client, { prompt: { kind: "ids", ids: ids(2040, 0) } });
    expect([exact.failure, exact.output_tokens]).toEqual([null, 8]);
    expect((await ask(client, { prompt: { kind: "ids", ids: [99_999] } })).failure?.message).toMatch(
      /not in the vocabulary/,
    );
    expect((await ask(client, { params: { temperature: "hot" } })).failure?.message).toMatch(
      /must be a number/,
    );
    const odd = await ask(client, {
      params: { guided_json: {}, top_k: 5, seed: 1, temperature: 0.8, repetition_penalty: 1.2 },
    });
    expect([odd.failure, odd.notes]).toEqual([null, ["llama-cpp in this process has no guided_json"]]);
  });

  it("a context beyond what the model was trained on is refused", async () => {
    await expect(open({ context_size: "40000" })).rejects.toMatchObject({
      message: expect.stringMatching(/context_size=40000: .*tiny\.gguf was trained on 32768 tokens/),
      exitCode: 2,
    });
  });

  it("a file that is no model is the user's to mend", async () => {
    const options = { clock, warn: () => undefined };
    const settings = llamaSettings({ library });
    await expect(openLlamaEngine("/no/model.gguf", settings, options)).rejects.toMatchObject({ exitCode: 2 });
    await expect(openLlamaEngine(fileURLToPath(import.meta.url), settings, options)).rejects.toMatchObject({
      message: expect.stringMatching(/^llama\.cpp cannot run /),
      exitCode: 3,
    });
  });
});

if (there)
  describeClientContract("llama.cpp in the process", async () => {
    const client = createEngineClient(await open(), { clock, timeoutMs: null });
    return { client, clock, model: "tiny", until: (promise) => promise, dispose: () => client.close() };
  });
