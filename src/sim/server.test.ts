import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { RealClock } from "../core/real-clock.ts";
import { sleep } from "../core/clock.ts";
import type { SimConfigInput } from "./config.ts";
import { startSimServer, type SimServer, type SimServerOptions } from "./server.ts";
import { decode, encode } from "./tokenizer.ts";

const clock = new RealClock();
const CONFIG: SimConfigInput = {
  model: "qwen2.5-0.5b",
  gpu: "l4",
  block_size: 4,
  num_gpu_blocks: 1000,
  max_model_len: 2000,
  linear_step: { base_ms: 1 },
};
const MODEL = "sim/qwen2.5-0.5b-l4";

const open: SimServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function start(
  config: SimConfigInput = {},
  options: Partial<SimServerOptions> = {},
): Promise<SimServer> {
  const server = await startSimServer({
    config: { ...CONFIG, ...config },
    clock,
    seed: 1,
    port: 0,
    ...options,
  });
  open.push(server);
  return server;
}

/** Waits, at most 5 s, until something holds. */
async function until(holds: () => boolean): Promise<void> {
  for (let i = 0; i < 1000 && !holds(); i++) await sleep(clock, 5);
  expect(holds()).toBe(true);
}

interface Answer {
  readonly status: number;
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any;
}

async function post(server: SimServer, path: string, body: unknown, headers = {}): Promise<Answer> {
  const response = await fetch(server.url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, text, json: /^[{[]/.test(text) ? JSON.parse(text) : null };
}

async function get(server: SimServer, path: string): Promise<Answer> {
  const response = await fetch(server.url + path);
  const text = await response.text();
  return { status: response.status, text, json: /^[{[]/.test(text) ? JSON.parse(text) : null };
}

/** The JSON events of a stream; the last must be `[DONE]`. */
// oxlint-disable-next-line typescript/no-explicit-any
function events(text: string): any[] {
  const data = text
    .split("\n\n")
    .filter((block) => block !== "")
    .map((block) => {
      expect(block.startsWith("data: ")).toBe(true);
      return block.slice(6);
    });
  expect(data.pop()).toBe("[DONE]");
  return data.map((line) => JSON.parse(line));
}

const FORCED = { model: MODEL, prompt: "a b c d e f g h i", max_tokens: 3, ignore_eos: true };

describe("completions", () => {
  it("answer whole, with usage and the engine's own times", async () => {
    const server = await start();
    const { status, json } = await post(server, "/v1/completions", FORCED, { "X-Request-Id": "req-7" });
    expect(status).toBe(200);
    expect(json).toMatchObject({
      id: "cmpl-req-7",
      object: "text_completion",
      model: MODEL,
      choices: [{ index: 0, finish_reason: "length", logprobs: null }],
      usage: {
        prompt_tokens: 9,
        completion_tokens: 3,
        total_tokens: 12,
        prompt_tokens_details: { cached_tokens: 0 },
      },
      reprise_sim: {
        queue_ms: expect.any(Number),
        prefill_ms: expect.closeTo(1, 6),
        decode_ms: expect.closeTo(2, 6),
        cached_tokens: 0,
      },
    });
    expect(encode(json.choices[0].text).length).toBe(3);
    const again = await post(server, "/v1/completions", FORCED);
    expect(again.json.usage.prompt_tokens_details.cached_tokens).toBe(8);
    expect(again.json.choices[0].text).toBe(json.choices[0].text);
  });

  it("stream a token a chunk; usage and times come in the last", async () => {
    const server = await start();
    const stream = { ...FORCED, stream: true, stream_options: { include_usage: true } };
    const chunks = events((await post(server, "/v1/completions", stream)).text);
    expect(chunks.map((chunk) => chunk.choices[0]?.finish_reason)).toEqual([null, null, "length", undefined]);
    const text = chunks.map((chunk) => chunk.choices[0]?.text ?? "").join("");
    expect(encode(text).length).toBe(3);
    expect(chunks[3]).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 9, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 0 } },
      reprise_sim: { prefill_ms: expect.closeTo(1, 6), decode_ms: expect.closeTo(2, 6), cached_tokens: 0 },
    });
    expect(chunks.slice(0, 3).every((chunk) => chunk.usage === undefined)).toBe(true);
    const plain = events((await post(server, "/v1/completions", { ...FORCED, stream: true })).text);
    expect(plain).toHaveLength(3);
    expect(plain[2].reprise_sim).toMatchObject({ cached_tokens: 8 });
  });

  it("tell usage in every chunk, and token ids, where asked", async () => {
    const server = await start();
    const body = {
      ...FORCED,
      stream: true,
      stream_options: { include_usage: true, continuous_usage_stats: true },
      return_token_ids: true,
    };
    const chunks = events((await post(server, "/v1/completions", body)).text);
    expect(chunks.map((chunk) => chunk.usage.completion_tokens)).toEqual([1, 2, 3, 3]);
    expect(chunks[0].choices[0].prompt_token_ids).toEqual([...encode(FORCED.prompt)]);
    for (const chunk of chunks.slice(0, 3)) {
      expect(decode(chunk.choices[0].token_ids)).toBe(chunk.choices[0].text);
    }
  });

  it("take token ids and a batch of one, as the same prompt", async () => {
    const server = await start();
    const ids = [...encode(FORCED.prompt)];
    const answers = [];
    for (const prompt of [FORCED.prompt, ids, [FORCED.prompt], [ids]]) {
      answers.push((await post(server, "/v1/completions", { ...FORCED, prompt })).json);
    }
    expect(new Set(answers.map((json) => json.choices[0].text)).size).toBe(1);
    expect(answers.map((json) => json.usage.prompt_tokens)).toEqual([9, 9, 9, 9]);
  });

  it("default to 16 tokens and to the model served", async () => {
    const server = await start({ mean_output_tokens: 900 });
    const { json } = await post(server, "/v1/completions", { prompt: "a" });
    expect(json).toMatchObject({ model: MODEL, usage: { completion_tokens: 16 } });
  });
});

describe("chat", () => {
  const CHAT = {
    model: MODEL,
    messages: [{ role: "user", content: "hi there" }],
    max_tokens: 2,
    ignore_eos: true,
  };

  it("streams the role first, then content", async () => {
    const server = await start();
    const chunks = events((await post(server, "/v1/chat/completions", { ...CHAT, stream: true })).text);
    expect(chunks.map((chunk) => chunk.object)).toEqual(Array(3).fill("chat.completion.chunk"));
    expect(chunks[0].choices[0].delta).toEqual({ role: "assistant", content: "" });
    expect(chunks[1].choices[0].delta.content).toMatch(/^[a-z]+$/);
    expect(chunks[2].choices[0]).toMatchObject({ finish_reason: "length" });
  });

  it("counts no token for the role", async () => {
    const server = await start();
    const body = { ...CHAT, stream: true, stream_options: { continuous_usage_stats: true } };
    const chunks = events((await post(server, "/v1/chat/completions", body)).text);
    expect(chunks.map((chunk) => chunk.usage.completion_tokens)).toEqual([0, 1, 2]);
  });

  it("answers whole; without max_tokens until the answer stops by itself", async () => {
    const server = await start({ mean_output_tokens: 20 });
    const { json } = await post(server, "/v1/chat/completions", {
      ...CHAT,
      ignore_eos: false,
      max_tokens: undefined,
    });
    expect(json.choices[0]).toMatchObject({ message: { role: "assistant" }, finish_reason: "stop" });
    // The end-of-sequence token is counted, and has no text.
    expect(encode(json.choices[0].message.content).length).toBe(json.usage.completion_tokens - 1);
    // "hi", " ther", "e"; 4 for the message of a user, 5 for the answer's head.
    expect(json.usage.prompt_tokens).toBe(12);
  });
});

describe("what a server refuses", () => {
  it("is refused with a 4xx and OpenAI's error object", async () => {
    const server = await start();
    const cases: readonly [string, unknown, number, RegExp][] = [
      ["/v1/completions", "{not json", 400, /not valid JSON/],
      ["/v1/completions", "[1]", 400, /JSON object/],
      ["/v1/completions", { ...FORCED, max_tokens: 0 }, 400, /max_tokens must be at least 1, got 0/],
      ["/v1/completions", { ...FORCED, max_tokens: -3 }, 400, /at least 1/],
      ["/v1/completions", { ...FORCED, max_tokens: 1.5 }, 400, /max_tokens/],
      ["/v1/completions", { ...FORCED, max_tokens: "3" }, 400, /max_tokens/],
      ["/v1/completions", { ...FORCED, max_tokens: 1992 }, 400, /maximum context length is 2000/],
      ["/v1/completions", { ...FORCED, min_tokens: 4 }, 400, /min_tokens must be at most/],
      ["/v1/completions", { ...FORCED, prompt: undefined }, 400, /prompt must be/],
      ["/v1/completions", { ...FORCED, prompt: [] }, 400, /prompt must be/],
      ["/v1/completions", { ...FORCED, prompt: [1, "a"] }, 400, /prompt must be/],
      ["/v1/completions", { ...FORCED, prompt: ["a", "b"] }, 400, /one prompt/],
      ["/v1/completions", { ...FORCED, prompt: [1e9] }, 400, /prompt must be/],
      ["/v1/completions", { ...FORCED, stream_options: {} }, 400, /stream=True/],
      ["/v1/completions", { ...FORCED, best_of: 2 }, 400, /best_of must be 1/],
      ["/v1/completions", { ...FORCED, use_beam_search: true }, 400, /beam/],
      ["/v1/completions", { ...FORCED, model: "other" }, 404, /`other` does not exist/],
      ["/v1/chat/completions", { model: MODEL }, 400, /messages/],
      ["/v1/chat/completions", { model: MODEL, messages: ["hi"] }, 400, /must be an object/],
      ["/v1/chat/completions", { model: MODEL, messages: [{ content: "x" }] }, 400, /role/],
      ["/v1/chat/completions", { model: MODEL, messages: [{ role: "user", content: 5 }] }, 400, /content/],
    ];
    for (const [path, body, status, message] of cases) {
      const answer = await post(server, path, body);
      expect([message, answer.status]).toEqual([message, status]);
      expect(answer.json.error.message).toMatch(message);
      expect(answer.json.error.code).toBe(status);
    }
    expect((await post(server, "/v1/embeddings", {})).status).toBe(404);
    expect((await get(server, "/v1/completions")).status).toBe(405);
    expect((await post(server, "/health", {})).status).toBe(405);
    expect(server.engine.counters.steps).toBe(0);
  });

  it("a body that is too large gets 413", async () => {
    const server = await start({}, { max_body_bytes: 1000 });
    const answer = await post(server, "/v1/completions", { ...FORCED, prompt: "x".repeat(2000) });
    expect(answer).toMatchObject({ status: 413, json: { error: { code: 413 } } });
    expect((await post(server, "/v1/completions", FORCED)).status).toBe(200);
  });

  it("a key that is missing or wrong gets 401, where one is asked for", async () => {
    const server = await start({}, { api_key: "sk-1" });
    expect((await post(server, "/v1/completions", FORCED)).status).toBe(401);
    expect((await post(server, "/v1/completions", FORCED, { authorization: "Bearer sk-2" })).status).toBe(
      401,
    );
    expect((await post(server, "/v1/completions", FORCED, { authorization: "Bearer sk-1" })).status).toBe(
      200,
    );
    expect((await get(server, "/health")).status).toBe(200);
  });
});

describe("the paths beside", () => {
  it("models and aliases, tokenize and back, profile, config", async () => {
    const server = await start({}, { aliases: ["m"] });
    const models = (await get(server, "/v1/models")).json.data;
    expect(models).toMatchObject([
      { id: MODEL, max_model_len: 2000 },
      { id: "m", root: MODEL },
    ]);
    expect((await post(server, "/v1/completions", { ...FORCED, model: "m" })).json.model).toBe("m");
    const tokens = (
      await post(server, "/tokenize", { model: MODEL, prompt: "go on, 你", return_token_strs: true })
    ).json;
    expect(tokens).toMatchObject({
      count: 5,
      max_model_len: 2000,
      token_strs: ["go", " on", ",", " ", "你"],
    });
    expect((await post(server, "/detokenize", { tokens: tokens.tokens })).json).toEqual({
      prompt: "go on, 你",
    });
    const messages = [{ role: "user", content: "hi" }];
    expect((await post(server, "/tokenize", { messages })).json.count).toBe(10);
    expect((await post(server, "/tokenize", { messages, add_generation_prompt: false })).json.count).toBe(5);
    expect((await post(server, "/tokenize", {})).status).toBe(400);
    expect((await post(server, "/tokenize", { model: "x", prompt: "a" })).status).toBe(404);
    expect((await post(server, "/detokenize", { tokens: ["a"] })).status).toBe(400);
    expect((await post(server, "/start_profile", "")).status).toBe(200);
    expect((await get(server, "/reprise_sim")).json).toMatchObject({ simulated: true, num_gpu_blocks: 1000 });
  });

  it("a name of one's own is served with sim/ before it, and answers without", async () => {
    const server = await start({ served_model_name: "Qwen/Qwen3-32B" });
    const names = (await get(server, "/v1/models")).json.data.map(({ id }: { id: string }) => id);
    expect(names).toEqual(["sim/Qwen/Qwen3-32B", "Qwen/Qwen3-32B"]);
    expect((await post(server, "/v1/completions", { ...FORCED, model: "Qwen/Qwen3-32B" })).status).toBe(200);
    expect((await post(server, "/v1/completions", FORCED)).status).toBe(404);
  });

  it("health says 503 while starting up, and so does everything else", async () => {
    const server = await start({ startup_ms: 300 });
    expect((await get(server, "/health")).status).toBe(503);
    expect((await post(server, "/v1/completions", FORCED)).status).toBe(503);
    await sleep(clock, 350);
    expect((await get(server, "/health")).status).toBe(200);
  });

  it("metrics have vLLM's names and count what was done", async () => {
    const server = await start();
    await post(server, "/v1/completions", FORCED);
    await post(server, "/v1/completions", FORCED);
    const { text } = await get(server, "/metrics");
    const value = (name: string): number => {
      const line = text.split("\n").find((row) => row.startsWith(`${name}{`) || row.startsWith(`${name} `));
      return Number(line?.split(" ").at(-1));
    };
    expect(value("vllm:prompt_tokens_total")).toBe(18);
    expect(value("vllm:generation_tokens_total")).toBe(6);
    expect(value("vllm:prefix_cache_queries_total")).toBe(18);
    expect(value("vllm:prefix_cache_hits_total")).toBe(8);
    expect(value("vllm:num_requests_running")).toBe(0);
    expect(value("vllm:num_requests_waiting")).toBe(0);
    expect(value("vllm:kv_cache_usage_perc")).toBe(0);
    expect(value("vllm:num_preemptions_total")).toBe(0);
    for (const name of ["queue", "prefill", "decode"]) {
      expect(value(`vllm:request_${name}_time_seconds_count`)).toBe(2);
    }
    expect(value("vllm:request_decode_time_seconds_sum")).toBeCloseTo(0.004, 9);
    expect(value("vllm:time_to_first_token_seconds_count")).toBe(2);
    expect(text).toMatch(/vllm:request_prefill_time_seconds_bucket\{[^}]*le="\+Inf"\} 2/);
    expect(text).toContain("reprise_sim_info{");
  });

  it("the prefix cache is reset, unless requests hold blocks", async () => {
    const server = await start({ linear_step: { base_ms: 20 } });
    const long = post(server, "/v1/completions", { ...FORCED, max_tokens: 25 });
    await until(() => server.engine.stats().running === 1);
    expect((await post(server, "/reset_prefix_cache", "")).status).toBe(409);
    await long;
    expect((await post(server, "/reset_prefix_cache", "")).status).toBe(200);
    const { json } = await post(server, "/v1/completions", FORCED);
    expect(json.usage.prompt_tokens_details.cached_tokens).toBe(0);
  });
});

describe("connections and faults", () => {
  it("a client that goes away frees its place in the batch", async () => {
    const server = await start({ linear_step: { base_ms: 5 } });
    const body = JSON.stringify({ ...FORCED, max_tokens: 1500, stream: true });
    const socket = connect(server.port, "127.0.0.1");
    socket.write(`POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    await new Promise((resolve) => socket.once("data", resolve));
    expect(server.engine.stats().running).toBe(1);
    socket.destroy();
    await until(() => server.engine.stats().running === 0);
    expect(server.engine.counters.finished.abort).toBe(1);
  });

  it("refuses a port in use in one line", async () => {
    const server = await start();
    await expect(start({}, { port: server.port })).rejects.toThrow(
      /cannot listen on 127.0.0.1:\d+: address in use/,
    );
  });

  it("injects failures: the first two, a share, broken streams, the end of the server", async () => {
    const first = await start({ faults: { first_failures: 2 } });
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await post(first, "/v1/completions", FORCED)).status);
    expect(statuses).toEqual([503, 503, 200]);

    const share = await start({ faults: { fail_rate: 0.5, fail_status: 429 } });
    let failed = 0;
    for (let i = 0; i < 60; i++) if ((await post(share, "/v1/completions", FORCED)).status === 429) failed++;
    expect(failed).toBeGreaterThan(15);
    expect(failed).toBeLessThan(45);

    const broken = await start({ faults: { truncate_rate: 1, truncate_after_tokens: 2 } });
    const cut = fetch(`${broken.url}/v1/completions`, {
      method: "POST",
      body: JSON.stringify({ ...FORCED, stream: true }),
    }).then((response) => response.text());
    await expect(cut).rejects.toThrow();

    const crash = await start({ faults: { crash_after: 1 } });
    expect((await post(crash, "/v1/completions", FORCED)).status).toBe(200);
    await expect(post(crash, "/v1/completions", FORCED)).rejects.toThrow();
    await expect(get(crash, "/health")).rejects.toThrow();
  });
});
