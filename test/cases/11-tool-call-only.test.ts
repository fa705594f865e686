import { describe, expect, it } from "vitest";
import { C, DONE, FIN, U } from "../stub/events.ts";
import { gaps, observeChat, tpot } from "../stub/observe.ts";

const call = (index: number | undefined, args: string, more: object = {}): string =>
  C({
    tool_calls: [
      {
        ...(index === undefined ? {} : { index }),
        ...more,
        function: { arguments: args, ...(more as { fn?: object }).fn },
      },
    ],
  });

describe("case 11: only a tool call", () => {
  it("counts as tokens and is joined", async () => {
    const seen = await observeChat([
      [1, C({ role: "assistant", content: null })],
      [300, call(0, "", { id: "call_1", type: "function", fn: { name: "grep" } })],
      [320, call(0, '{"q":')],
      [340, call(0, '"x"}')],
      [341, FIN("tool_calls") + U(9) + DONE],
    ]);
    expect([seen.failure, seen.first_token_ms, seen.first_output_ms, seen.output_tokens]).toEqual([
      null,
      300,
      300,
      9,
    ]);
    expect([tpot(seen), gaps(seen), seen.finish_reason]).toEqual([5, [20, 20], "tool_calls"]);
    expect(seen.tool_calls).toEqual([{ id: "call_1", name: "grep", arguments: '{"q":"x"}' }]);
  });

  it("two calls, by index, interleaved", async () => {
    const seen = await observeChat([
      [10, call(0, "", { id: "a", fn: { name: "f" } }) + call(1, "", { id: "b", fn: { name: "g" } })],
      [20, call(1, "2") + call(0, "1") + FIN("tool_calls") + DONE],
    ]);
    expect(seen.tool_calls).toEqual([
      { id: "a", name: "f", arguments: "1" },
      { id: "b", name: "g", arguments: "2" },
    ]);
  });

  it("without an index a new id begins a new call", async () => {
    const seen = await observeChat([
      [10, call(undefined, "1", { id: "a", fn: { name: "f" } })],
      [20, call(undefined, "2")],
      [30, call(undefined, "3", { id: "b", fn: { name: "g" } }) + FIN("tool_calls") + DONE],
    ]);
    expect(seen.tool_calls).toEqual([
      { id: "a", name: "f", arguments: "12" },
      { id: "b", name: "g", arguments: "3" },
    ]);
  });

  it("another id and name under the same index is another call; a mere new id is not", async () => {
    const seen = await observeChat([
      [10, call(0, "1", { id: "a", fn: { name: "f" } })],
      [20, call(0, "2", { id: "b", fn: { name: "g" } }) + call(0, "3", { id: "c" })],
      [30, FIN("tool_calls") + DONE],
    ]);
    expect(seen.tool_calls).toEqual([
      { id: "a", name: "f", arguments: "1" },
      { id: "b", name: "g", arguments: "23" },
    ]);
  });

  it("a fragment that brings nothing is no token", async () => {
    const seen = await observeChat([
      [5, C({ tool_calls: [{}] })],
      [6, C({ tool_calls: [{ index: 0, id: "a", type: "function", function: {} }] })],
      [300, call(0, "", { fn: { name: "f" } })],
      [320, call(0, "{}")],
      [350, call(0, "", { id: "a" })],
      [351, FIN("tool_calls") + U(4) + DONE],
    ]);
    expect([seen.first_token_ms, seen.last_token_ms, gaps(seen)]).toEqual([300, 320, [20]]);
    expect(seen.tool_calls).toEqual([{ id: "a", name: "f", arguments: "{}" }]);
  });

  it.each([
    ["sound", { audio: { id: "x", data: "AAAA" } }],
    ["what the sound says", { audio: { transcript: "hi" } }],
    ["a picture", { images: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }] }],
    ["a refusal", { refusal: "no" }],
  ])("%s is payload too", async (_name, delta) => {
    const seen = await observeChat([
      [1, C({ role: "assistant", audio: null, images: [] })],
      [300, C(delta)],
      [320, C(delta)],
      [321, FIN("stop") + U(9) + DONE],
    ]);
    expect([seen.failure, seen.first_token_ms, gaps(seen), seen.output_tokens]).toEqual([null, 300, [20], 9]);
  });

  it("a legacy function_call counts too", async () => {
    const seen = await observeChat([
      [10, C({ function_call: { name: "f", arguments: "" } })],
      [20, C({ function_call: { arguments: "{}" } }) + FIN("function_call") + DONE],
    ]);
    expect([seen.first_token_ms, seen.tool_calls]).toEqual([10, [{ id: null, name: "f", arguments: "{}" }]]);
  });
});
