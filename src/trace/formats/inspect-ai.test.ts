/** Inspect AI logs: model events as turns, attachments resolved, cached and failed calls left out. */
import { describe, expect, it } from "vitest";
import { linksOf, readWritten } from "../../../test/trace/written-trace.ts";
import { inspectAi } from "./inspect-ai.ts";

const T0 = Date.UTC(2025, 4, 12);
const iso = (ms: number): string => new Date(T0 + ms).toISOString();
const model = (from: number, to: number, more: object = {}): object => ({
  event: "model",
  model: "p/m",
  timestamp: iso(from),
  completed: iso(to),
  input: [{ role: "user", content: "attachment://abc" }],
  tools: [{ name: "bash", description: "d", parameters: { type: "object" } }],
  config: { temperature: 0.3, max_tokens: 50 },
  output: {
    choices: [
      {
        message: {
          role: "assistant",
          content: "",
          tool_calls: [{ id: "c", function: "bash", arguments: { cmd: "ls" } }],
        },
      },
    ],
    usage: {
      input_tokens: 10,
      output_tokens: 4,
      total_tokens: 44,
      input_tokens_cache_read: 20,
      input_tokens_cache_write: 10,
    },
    time: 1,
  },
  ...more,
});
const log = (samples: unknown): object => ({ version: 2, status: "success", eval: {}, samples });

describe("inspect-ai", () => {
  const samples = [
    {
      id: "one",
      epoch: 1,
      attachments: { abc: "a long text" },
      events: [
        { event: "sample_init", timestamp: iso(0) },
        model(0, 1000),
        { event: "tool", function: "bash", timestamp: iso(1100), completed: iso(1600) },
        model(2000, 3000, {
          input: [
            { role: "user", content: "attachment://abc" },
            {
              role: "assistant",
              content: [{ type: "reasoning", reasoning: "hm" }],
              tool_calls: [{ id: "c", function: "bash", arguments: { cmd: "ls" } }],
            },
            { role: "tool", tool_call_id: "c", function: "bash", content: "files" },
          ],
          output: {
            choices: [],
            usage: { input_tokens: 70, output_tokens: 4, total_tokens: 74, input_tokens_cache_read: 30 },
          },
        }),
        model(3000, 3001, { cache: "read" }),
        model(3100, 3200, { error: "overloaded", output: { choices: [] } }),
        model(4000, 4000, { pending: true }),
      ],
    },
    { id: "two", epoch: 1 },
    { id: "one", epoch: 2, events: [model(500, 900)], attachments: {} },
  ];

  it("reads turns, tools and counts", async () => {
    const trace = await readWritten(inspectAi, log(samples));
    expect(linksOf(trace)).toEqual({
      "sample-one-epoch-1/0": [[], null],
      "sample-one-epoch-1/1": [["sample-one-epoch-1/0"], 1000],
      "sample-one-epoch-2/0": [[], null],
    });
    expect(trace.requests).toMatchObject([
      {
        temperature: 0.3,
        max_tokens: 50,
        recorded: { prompt_tokens: 40, output_tokens: 4, cached_tokens: 20 },
        prompt: {
          messages: [{ role: "user", content: "a long text" }],
          tools: [{ type: "function", function: { name: "bash" } }],
        },
      },
      {
        tool: [{ name: "bash", ms: 500 }],
        // the total says that the cached 30 are inside the 70
        recorded: { prompt_tokens: 70, output_tokens: 4, cached_tokens: 30 },
        prompt: {
          messages: [
            { role: "user", content: "a long text" },
            {
              role: "assistant",
              tool_calls: [{ id: "c", function: { name: "bash", arguments: '{"cmd":"ls"}' } }],
            },
            { role: "tool", tool_call_id: "c", content: "files" },
          ],
        },
      },
      // a text that the log does not hold stays as it is
      { arrival_ms: 500, prompt: { messages: [{ role: "user", content: "attachment://abc" }] } },
    ]);
    expect(trace.rows).toEqual({
      read: 9,
      used: 3,
      skipped: {
        "event sample_init": 1,
        "event tool": 1,
        "failed model call": 1,
        "model event answered from a local cache": 1,
        "model event without an end": 1,
        "sample without events": 1,
      },
      refused: 0,
    });
    expect(trace.notes).toEqual(["1 samples hold no events: nothing of them can be replayed"]);
  });

  it("refuses by place", async () => {
    await expect(
      readWritten(inspectAi, log([{ id: 1, events: [model(0, 1), model(0, 1, { timestamp: "noon" })] }])),
    ).rejects.toThrow(/samples\[0\]\.events\[1\]: "timestamp" is no instant/);
    await expect(readWritten(inspectAi, log("none"))).rejects.toThrow(/"samples" must be an array/);
  });
});
