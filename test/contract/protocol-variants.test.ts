/** What servers of one protocol do differently: counts told in pieces, calls told whole, events that are rare. */
import { describe, expect, it } from "vitest";
import { findProtocol } from "../../src/client/protocols/index.ts";
import type { Observation } from "../../src/record/observation.ts";
import { event } from "../stub/events.ts";
import { gaps, observe, observeSteps } from "../stub/observe.ts";
import { response } from "../stub/wire.ts";

type Pieces = readonly (readonly [at: number, data: string])[];
const named = (type: string, more: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const seenBy = (protocol: string, pieces: Pieces): Promise<Observation> =>
  observe(pieces, { protocol: findProtocol(protocol) });

describe("anthropic-messages", () => {
  const start = (usage: object): string => named("message_start", { message: { usage } });
  const text = (value: string): string =>
    named("content_block_delta", { index: 0, delta: { type: "text_delta", text: value } });
  const end = (usage?: object): string =>
    named("message_delta", {
      delta: { stop_reason: "end_turn" },
      ...(usage === undefined ? {} : { usage }),
    }) + named("message_stop");
  const cached = { input_tokens: 10, cache_read_input_tokens: 100, cache_creation_input_tokens: 20 };

  it.each([
    ["all at the start", { ...cached, output_tokens: 1 }, { output_tokens: 2 }],
    ["the uncached part again at the end", cached, { input_tokens: 10, output_tokens: 2 }],
    ["zeros at the end", cached, { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 2 }],
    ["zeros at the start", { input_tokens: 0, output_tokens: 0 }, { ...cached, output_tokens: 2 }],
    ["all of it twice", cached, { ...cached, output_tokens: 2 }],
  ])("the prompt is 130 tokens, 100 of them cached: %s", async (_name, first, last) => {
    const seen = await seenBy("anthropic", [
      [5, start(first)],
      [100, text("a")],
      [120, text("b") + end(last)],
    ]);
    expect([seen.failure, seen.prompt_tokens, seen.cached_tokens, seen.output_tokens]).toEqual([
      null,
      130,
      100,
      2,
    ]);
  });

  it("the output count of the start is a placeholder", async () => {
    const seen = await seenBy("anthropic", [
      [5, start({ input_tokens: 10, output_tokens: 1 })],
      [100, text("a") + text("b") + text("c") + end()],
    ]);
    expect([seen.output_tokens, seen.output_tokens_source, seen.cached_tokens]).toEqual([3, "chunks", null]);
  });

  it("a call that comes whole has its arguments; one that the server answers is a token", async () => {
    const block = (type: string, input: object): string =>
      named("content_block_start", { index: 0, content_block: { type, id: "t", name: "f", input } });
    const whole = await seenBy("anthropic", [[100, block("tool_use", { a: 1 }) + end({ output_tokens: 9 })]]);
    expect(whole.tool_calls).toEqual([{ id: "t", name: "f", arguments: '{"a":1}' }]);
    const served = await seenBy("anthropic", [
      [100, block("server_tool_use", {})],
      [900, text("a") + end({ output_tokens: 9 })],
    ]);
    expect([served.first_token_ms, gaps(served)]).toEqual([100, [800]]);
  });
});

describe("openai-responses", () => {
  it.each([
    "response.custom_tool_call_input.delta",
    "response.mcp_call_arguments.delta",
    "response.code_interpreter_call_code.delta",
    "response.audio.delta",
    "response.audio.transcript.delta",
  ])("%s is payload", async (type) => {
    const seen = await seenBy("responses", [
      [100, named(type, { output_index: 0, delta: "x" })],
      [120, named(type, { output_index: 0, delta: "y" })],
      [121, named("response.completed", { response: { status: "completed", usage: { output_tokens: 4 } } })],
    ]);
    expect([seen.failure, seen.first_token_ms, gaps(seen), seen.output_tokens]).toEqual([null, 100, [20], 4]);
  });
});

describe("sglang", () => {
  const so = (text: string, n: number, reason: object | null = null): string =>
    event({ text, meta_info: { completion_tokens: n, finish_reason: reason } });

  it.each([
    ["after another", "a\ufffd", "a你", "a你b", 100],
    ["at the start", "\ufffd", "你", "你b", 120],
    ["in two steps", "a\ufffd\ufffd", "a\ufffd", "a你", 100],
  ])("a character that is not complete yet: %s", async (_name, one, two, three, first) => {
    const seen = await seenBy("sglang", [
      [100, so(one, 1)],
      [120, so(two, 2)],
      [140, so(three, 3, { type: "stop" })],
    ]);
    expect([seen.failure, seen.text, seen.first_token_ms, seen.output_tokens]).toEqual([
      null,
      three,
      first,
      3,
    ]);
  });

  it("a text that rightly ends in U+FFFD keeps it", async () => {
    const seen = await seenBy("sglang", [
      [100, so("a", 1)],
      [120, so("a\ufffd", 2, { type: "length" })],
    ]);
    expect([seen.text, seen.chunks]).toEqual(["a\ufffd", 2]);
  });

  it("a list of one is an answer", async () => {
    const body = [{ text: "a", meta_info: { prompt_tokens: 3, completion_tokens: 1 } }];
    const seen = await observeSteps(
      [{ at: 5, bytes: response([JSON.stringify(body)], "length", { type: "application/json" }) }],
      { protocol: findProtocol("sglang") },
    );
    expect([seen.failure, seen.text, seen.prompt_tokens, seen.output_tokens]).toEqual([null, "a", 3, 1]);
  });
});

describe("ollama", () => {
  it("a BOM before the first line is none of it", async () => {
    const lines = [{ response: "a" }, { response: "", done: true, eval_count: 1 }];
    const seen = await observe([[10, `\ufeff${lines.map((one) => JSON.stringify(one)).join("\n")}\n`]], {
      protocol: findProtocol("ollama"),
      type: "application/x-ndjson",
    });
    expect([seen.failure, seen.text, seen.output_tokens]).toEqual([null, "a", 1]);
  });
});
