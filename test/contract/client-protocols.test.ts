/** Each protocol beside OpenAI's two: its request, a stream, an answer without streaming, an error, and every cut of the stream. */
import { describe, expect, it } from "vitest";
import type { ModelRequest } from "../../src/client/client.ts";
import type { Protocol } from "../../src/client/protocol.ts";
import { findProtocol, PROTOCOLS, protocolNames } from "../../src/client/protocols/index.ts";
import type { Observation } from "../../src/record/observation.ts";
import { event } from "../stub/events.ts";
import { modelRequest, observe, observeSteps, timed } from "../stub/observe.ts";
import { response } from "../stub/wire.ts";

const IDS = { kind: "ids", ids: [5, 6] } as const;
const MESSAGES = {
  kind: "messages",
  messages: [
    { role: "system", content: "be brief" },
    { role: "user", content: "hi" },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c1", type: "function", function: { name: "ls", arguments: '{"p":"/"}' } }],
    },
    { role: "tool", tool_call_id: "c1", content: "bin" },
  ],
  tools: [
    { type: "function", function: { name: "ls", description: "lists", parameters: { type: "object" } } },
  ],
} as const;

interface Case {
  readonly name: string;
  readonly request: Partial<ModelRequest>;
  readonly path: string;
  readonly body: object;
  /** Pieces of the stream at 100, 120, ... */
  readonly stream: readonly string[];
  readonly seen: Partial<Observation>;
  readonly error: string;
  readonly plain: {
    readonly path: string;
    readonly body: object;
    readonly seen: Partial<Observation>;
  } | null;
}

const named = (value: { type: string }): string => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
const meta = (n: number, reason: unknown): object => ({
  prompt_tokens: 7,
  completion_tokens: n,
  cached_tokens: 4,
  finish_reason: reason,
});
const line = (value: object): string => `${JSON.stringify(value)}\n`;

const CASES: readonly Case[] = [
  {
    name: "sglang",
    request: { prompt: IDS, max_tokens: 3, force_length: true, temperature: 0 },
    path: "/generate",
    body: {
      input_ids: [5, 6],
      sampling_params: { temperature: 0, max_new_tokens: 3, min_new_tokens: 3, ignore_eos: true },
      stream: true,
    },
    stream: [
      event({ text: "你", meta_info: meta(1, null) }),
      event({ text: "你 b", meta_info: meta(2, null) }),
      event({ text: "你 b c", meta_info: meta(3, { type: "length", length: 3 }) }),
      "data: [DONE]\n\n",
    ],
    seen: {
      text: "你 b c",
      chunks: 3,
      chunk_tokens: [1, 1, 1],
      output_tokens: 3,
      prompt_tokens: 7,
      cached_tokens: 4,
      finish_reason: "length",
    },
    error: event({ error: { message: "boom" } }),
    plain: {
      path: "/generate",
      body: { text: "abc", meta_info: meta(3, { type: "stop" }) },
      seen: { text: "abc", output_tokens: 3, finish_reason: "stop" },
    },
  },
  {
    name: "tgi",
    request: { max_tokens: 2, force_length: true, temperature: 0.5 },
    path: "/generate_stream",
    body: {
      inputs: "hi",
      parameters: {
        details: true,
        max_new_tokens: 2,
        do_sample: true,
        temperature: 0.5,
        ignore_eos_token: true,
      },
    },
    stream: [
      event({ index: 1, token: { id: 1, text: "a", special: false }, generated_text: null, details: null }),
      event({ index: 2, token: { id: 2, text: " b", special: false }, generated_text: null, details: null }),
      event({
        index: 3,
        token: { id: 0, text: "</s>", special: true },
        generated_text: "a b",
        details: { finish_reason: "eos_token", generated_tokens: 3, input_length: 7 },
      }),
    ],
    seen: {
      text: "a b",
      chunks: 2,
      chunk_tokens: [1, 1],
      output_tokens: 3,
      prompt_tokens: 7,
      finish_reason: "eos_token",
    },
    error: event({ error: "boom", error_type: "generation" }),
    plain: {
      path: "/generate",
      body: { generated_text: "a b", details: { finish_reason: "length", generated_tokens: 2 } },
      seen: { text: "a b", output_tokens: 2 },
    },
  },
  {
    name: "tensorrt-llm",
    request: { max_tokens: 2, force_length: true, temperature: 0 },
    path: "/v2/models/ensemble/generate_stream",
    body: {
      text_input: "hi",
      max_tokens: 2,
      min_length: 2,
      temperature: 0,
      accumulate_tokens: false,
      stream: true,
    },
    stream: [
      event({ model_name: "ensemble", text_output: "a" }),
      event({ model_name: "ensemble", text_output: " b" }),
    ],
    seen: { text: "a b", chunks: 2, output_tokens: 2, output_tokens_source: "chunks", finish_reason: null },
    error: event({ error: "boom" }),
    plain: {
      path: "/v2/models/ensemble/generate",
      body: { text_output: "a b" },
      seen: { text: "a b", output_tokens: null },
    },
  },
  {
    name: "llama-server",
    request: { prompt: IDS, max_tokens: 2, force_length: true },
    path: "/completion",
    body: {
      prompt: [5, 6],
      n_predict: 2,
      ignore_eos: true,
      cache_prompt: true,
      return_tokens: true,
      stream: true,
    },
    stream: [
      event({ index: 0, content: "a", tokens: [11], stop: false, tokens_predicted: 1, tokens_evaluated: 7 }),
      event({
        index: 0,
        content: " b",
        tokens: [12, 13],
        stop: false,
        tokens_predicted: 3,
        tokens_evaluated: 7,
      }),
      event({
        content: "",
        tokens: [],
        stop: true,
        stop_type: "limit",
        tokens_predicted: 3,
        tokens_evaluated: 7,
        timings: { cache_n: 4, prompt_n: 3, prompt_ms: 12.5, predicted_n: 3, predicted_ms: 40 },
      }),
    ],
    seen: {
      text: "a b",
      chunks: 2,
      chunk_tokens: [1, 2],
      output_tokens: 3,
      prompt_tokens: 7,
      cached_tokens: 4,
      finish_reason: "length",
      engine: {
        queue_ms: null,
        prefill_ms: 12.5,
        decode_ms: 40,
        cached_tokens: 4,
        source: "llama.cpp timings",
      },
    },
    error: event({ error: { code: 400, message: "boom" } }),
    plain: {
      path: "/completion",
      body: { content: "a b", stop: true, stop_type: "eos", tokens_predicted: 3, tokens_evaluated: 7 },
      seen: { text: "a b", output_tokens: 3, finish_reason: "stop" },
    },
  },
  {
    name: "ollama",
    request: { prompt: MESSAGES, max_tokens: 2, temperature: 0 },
    path: "/api/chat",
    body: {
      model: "m",
      messages: MESSAGES.messages,
      tools: MESSAGES.tools,
      stream: true,
      options: { num_predict: 2, temperature: 0 },
    },
    stream: [
      line({ message: { role: "assistant", content: "", thinking: "hm" }, done: false }),
      line({ message: { role: "assistant", content: "é" }, done: false }),
      line({
        message: {
          role: "assistant",
          content: "",
          tool_calls: [{ function: { name: "ls", arguments: { p: "/" } } }],
        },
        done: false,
      }),
      line({
        message: { content: "" },
        done: true,
        done_reason: "stop",
        prompt_eval_count: 7,
        prompt_eval_duration: 5e6,
        eval_count: 3,
        eval_duration: 4e7,
      }),
    ],
    seen: {
      text: "é",
      chunks: 3,
      output_tokens: 3,
      prompt_tokens: 7,
      finish_reason: "stop",
      tool_calls: [{ id: null, name: "ls", arguments: '{"p":"/"}' }],
      engine: {
        queue_ms: null,
        prefill_ms: 5,
        decode_ms: 40,
        cached_tokens: null,
        source: "ollama durations",
      },
    },
    error: line({ error: "boom" }),
    plain: {
      path: "/api/chat",
      body: {
        message: { role: "assistant", content: "a b" },
        done: true,
        done_reason: "stop",
        prompt_eval_count: 7,
        eval_count: 3,
      },
      seen: { text: "a b", output_tokens: 3, prompt_tokens: 7, chunks: 0, finish_reason: "stop" },
    },
  },
  {
    name: "openai-responses",
    request: { prompt: MESSAGES, max_tokens: 5 },
    path: "/v1/responses",
    body: {
      model: "m",
      input: [
        { role: "system", content: "be brief" },
        { role: "user", content: "hi" },
        { type: "function_call", call_id: "c1", name: "ls", arguments: '{"p":"/"}' },
        { type: "function_call_output", call_id: "c1", output: "bin" },
      ],
      tools: [{ type: "function", name: "ls", description: "lists", parameters: { type: "object" } }],
      max_output_tokens: 5,
      store: false,
      stream: true,
    },
    stream: [
      named({ type: "response.created", response: { status: "in_progress", error: null } } as {
        type: string;
      }) + named({ type: "response.reasoning_text.delta", delta: "hm" } as { type: string }),
      named({ type: "response.output_text.delta", delta: "é" } as { type: string }),
      named({
        type: "response.output_item.added",
        output_index: 1,
        item: { type: "function_call", call_id: "c2", name: "ls", arguments: "" },
      } as { type: string }) +
        named({ type: "response.function_call_arguments.delta", output_index: 1, delta: "{}" } as {
          type: string;
        }),
      named({
        type: "response.completed",
        response: {
          status: "completed",
          error: null,
          usage: {
            input_tokens: 7,
            input_tokens_details: { cached_tokens: 4 },
            output_tokens: 3,
            output_tokens_details: { reasoning_tokens: 1 },
          },
        },
      } as { type: string }),
    ],
    seen: {
      text: "é",
      chunks: 4,
      output_tokens: 3,
      prompt_tokens: 7,
      cached_tokens: 4,
      reasoning_tokens: 1,
      finish_reason: "stop",
      tool_calls: [{ id: "c2", name: "ls", arguments: "{}" }],
    },
    error: named({
      type: "response.failed",
      response: { status: "failed", error: { code: "server_error", message: "boom" } },
    } as { type: string }),
    plain: {
      path: "/v1/responses",
      body: {
        object: "response",
        status: "incomplete",
        error: null,
        incomplete_details: { reason: "max_output_tokens" },
        output: [{ type: "message", content: [{ type: "output_text", text: "é" }] }],
        usage: { input_tokens: 7, output_tokens: 5 },
      },
      seen: { text: "é", output_tokens: 5, finish_reason: "length" },
    },
  },
  {
    name: "anthropic-messages",
    request: { prompt: MESSAGES, max_tokens: null },
    path: "/v1/messages",
    body: {
      model: "m",
      system: "be brief",
      max_tokens: 4096,
      stream: true,
      messages: [
        { role: "user", content: "hi" },
        { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "ls", input: { p: "/" } }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "bin" }] },
      ],
      tools: [{ name: "ls", description: "lists", input_schema: { type: "object" } }],
    },
    stream: [
      named({
        type: "message_start",
        message: { usage: { input_tokens: 3, cache_read_input_tokens: 4, output_tokens: 1 } },
      } as { type: string }) +
        named({
          type: "content_block_start",
          index: 0,
          content_block: { type: "thinking", thinking: "" },
        } as { type: string }) +
        named({ type: "ping" }) +
        named({
          type: "content_block_delta",
          index: 0,
          delta: { type: "thinking_delta", thinking: "hm" },
        } as { type: string }),
      named({ type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "é" } } as {
        type: string;
      }),
      named({
        type: "content_block_start",
        index: 2,
        content_block: { type: "tool_use", id: "c2", name: "ls", input: {} },
      } as { type: string }) +
        named({
          type: "content_block_delta",
          index: 2,
          delta: { type: "input_json_delta", partial_json: "{}" },
        } as { type: string }),
      named({ type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 9 } } as {
        type: string;
      }) + named({ type: "message_stop" }),
    ],
    seen: {
      text: "é",
      chunks: 4,
      output_tokens: 9,
      prompt_tokens: 7,
      cached_tokens: 4,
      finish_reason: "tool_use",
      tool_calls: [{ id: "c2", name: "ls", arguments: "{}" }],
    },
    error: named({ type: "error", error: { type: "overloaded_error", message: "boom" } } as { type: string }),
    plain: {
      path: "/v1/messages",
      body: {
        content: [{ type: "text", text: "é" }],
        stop_reason: "end_turn",
        usage: { input_tokens: 7, output_tokens: 2 },
      },
      seen: { text: "é", output_tokens: 2, prompt_tokens: 7, finish_reason: "end_turn" },
    },
  },
];

describe.each(CASES)("$name", (one) => {
  const protocol: Protocol = findProtocol(one.name);
  const type = protocol.framing === "ndjson" ? "application/x-ndjson" : "text/event-stream";
  const options = { protocol, type, request: one.request };

  it("asks", () => {
    expect(protocol.request(modelRequest(one.request))).toMatchObject({ method: "POST", path: one.path });
    expect(protocol.request(modelRequest(one.request)).body).toEqual(one.body);
  });

  it("reads a stream", async () => {
    const seen = await observe(
      one.stream.map((piece, i): [number, string] => [100 + 20 * i, piece]),
      options,
    );
    expect(seen.failure).toBeNull();
    expect(seen).toMatchObject(one.seen);
    expect([seen.first_token_ms, seen.end_ms]).toEqual([100, 100 + 20 * (one.stream.length - 1)]);
  });

  it("reads it however it is cut", async () => {
    const bytes = response(one.stream, "chunked", { type });
    for (let cut = 1; cut < bytes.length; cut++) {
      const seen = await observeSteps(
        [
          { at: 1, bytes: bytes.subarray(0, cut) },
          { at: 2, bytes: bytes.subarray(cut) },
        ],
        options,
      );
      expect({ cut, failure: seen.failure }).toEqual({ cut, failure: null });
      expect(seen).toMatchObject(one.seen);
    }
  });

  it("keeps the message of an error inside a 200", async () => {
    const seen = await observe(
      [
        [10, one.stream[0] as string],
        [20, one.error],
      ],
      options,
    );
    expect(seen.failure).toMatchObject({ code: "server_error", message: "boom" });
  });

  it.skipIf(protocol.endsWithBody === true)("a stream that merely stops is truncated", async () => {
    const seen = await observe([[10, one.stream.slice(0, 2).join("")]], options);
    expect(seen.failure?.code).toBe("truncated");
  });

  it("a body that is cut is truncated", async () => {
    const [first] = timed([[10, one.stream[0] as string]], { type });
    const seen = await observeSteps(
      [
        { at: 10, bytes: Buffer.from(first?.bytes as Buffer).subarray(0, -5) },
        { at: 20, end: "fin" },
      ],
      options,
    );
    expect(seen.failure?.code).toBe("truncated");
  });

  it.runIf(one.plain !== null)("reads an answer without streaming", async () => {
    const { path, body, seen: expected } = one.plain as NonNullable<Case["plain"]>;
    expect(protocol.request(modelRequest({ ...one.request, stream: false })).path).toBe(path);
    const bytes = response([JSON.stringify(body)], "length", { type: "application/json" });
    const seen = await observeSteps([{ at: 50, bytes }], {
      ...options,
      request: { ...one.request, stream: false },
    });
    expect(seen.failure).toBeNull();
    expect(seen).toMatchObject({ ...expected, first_token_ms: null, end_ms: 50 });
  });

  it("another server's answer is no answer", async () => {
    const seen = await observe(
      [[10, protocol.framing === "ndjson" ? line({ hello: 1 }) : event({ hello: 1 })]],
      options,
    );
    expect(["bad_payload", "truncated"]).toContain(seen.failure?.code);
  });
});

describe("sglang with incremental output", () => {
  it.each([
    [
      "told by the ids",
      [
        [{ text: "ha", output_ids: [1] }, 1],
        [{ text: "ha", output_ids: [1] }, 2],
        [{ text: "!", output_ids: [2] }, 3],
      ],
      "haha!",
    ],
    [
      "told by the text",
      [
        [{ text: "a" }, 1],
        [{ text: "b" }, 2],
        [{ text: "c" }, 3],
      ],
      "abc",
    ],
  ] as [string, [object, number][], string][])("%s", async (_name, events, text) => {
    const pieces = events.map(([value, n], i): [number, string] => [
      10 * (i + 1),
      event({ ...value, meta_info: meta(n, i === 2 ? { type: "stop" } : null) }),
    ]);
    const seen = await observe(pieces, { protocol: findProtocol("sglang") });
    expect([seen.failure, seen.text, seen.chunks, seen.output_tokens]).toEqual([null, text, 3, 3]);
  });

  it("an abort is a failure with its reason", async () => {
    const seen = await observe(
      [[10, event({ text: "a", meta_info: meta(1, { type: "abort", message: "queue full" }) })]],
      { protocol: findProtocol("sglang") },
    );
    expect(seen.failure).toMatchObject({ code: "server_error", message: "queue full" });
  });
});

describe("protocols without a stream", () => {
  it.each([
    [
      "openai-embeddings",
      { prompt: IDS },
      { model: "m", input: [5, 6] },
      { object: "list", data: [{ embedding: [0.1] }], usage: { prompt_tokens: 7, total_tokens: 7 } },
    ],
    [
      "rerank",
      { prompt: { kind: "text", text: "q\nd1\nd2" } },
      { model: "m", query: "q", documents: ["d1", "d2"] },
      { results: [{ index: 0, relevance_score: 0.5 }], usage: { total_tokens: 7 } },
    ],
  ] as [string, Partial<ModelRequest>, object, object][])(
    "%s: latency only",
    async (name, request, body, answer) => {
      const protocol = findProtocol(name);
      expect(protocol.request(modelRequest(request)).body).toEqual(body);
      const options = { protocol, request };
      const seen = await observeSteps(
        [{ at: 40, bytes: response([JSON.stringify(answer)], "length", { type: "application/json" }) }],
        options,
      );
      expect(seen).toMatchObject({
        failure: null,
        end_ms: 40,
        first_token_ms: null,
        prompt_tokens: 7,
        output_tokens: null,
        output_tokens_source: "none",
      });
      const wrong = await observeSteps([{ at: 40, bytes: response(['{"choices":[]}'], "length") }], options);
      expect(wrong.failure?.code).toBe("bad_payload");
    },
  );
});

describe("the table of protocols", () => {
  it("knows each name once, and the nearest for a slip", () => {
    const names = protocolNames();
    expect(new Set(names).size).toBe(names.length);
    for (const { protocol, aliases } of PROTOCOLS) {
      for (const name of [protocol.name, ...aliases]) expect(findProtocol(name.toUpperCase())).toBe(protocol);
    }
    expect(() => findProtocol("opnai-chat")).toThrow(/unknown backend "opnai-chat"/);
  });

  it("refuses prompts that cannot be expressed", () => {
    expect(() => findProtocol("openai").request(modelRequest({ prompt: MESSAGES }))).toThrow(
      /not chat messages/,
    );
    expect(() => findProtocol("openai-chat").request(modelRequest({ prompt: IDS }))).toThrow(/not token ids/);
  });

  it("sends an Anthropic key in its own header", () => {
    expect(findProtocol("anthropic").authorization?.("k")).toEqual(["x-api-key", "k"]);
  });
});
