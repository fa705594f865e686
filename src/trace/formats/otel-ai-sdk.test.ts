/** Spans of the AI SDK for JavaScript, as its SDK holds them: `spanContext`, `[seconds, nanoseconds]`, attributes `ai.*`. */
import { describe, expect, it } from "vitest";
import { linksOf, readWritten } from "../../../test/trace/written-trace.ts";
import { otel } from "./otel.ts";

const T0 = 1_770_000_000;
const span = (id: string, operation: string, from: number, to: number, attributes: object): object => ({
  name: operation,
  spanContext: { traceId: "t", spanId: id },
  parentSpanContext: { traceId: "t", spanId: "root" },
  startTime: [T0 + Math.floor(from / 1000), (from % 1000) * 1e6],
  endTime: [T0 + Math.floor(to / 1000), (to % 1000) * 1e6 + 500],
  attributes: { "ai.operationId": operation, "gen_ai.request.model": "m", ...attributes },
  status: { code: 0 },
  events: [],
});
const call = { type: "tool-call", toolCallId: "c", toolName: "look", input: { at: "it" } };
const user = { role: "user", content: [{ type: "text", text: "go" }] };
const spans = [
  span("root", "ai.streamText", 0, 5000, { "ai.usage.promptTokens": 99, "ai.response.text": "done" }),
  span("one", "ai.streamText.doStream", 10, 1000, {
    "ai.prompt.messages": JSON.stringify([{ role: "system", content: "sys" }, user]),
    "ai.prompt.tools": [JSON.stringify({ type: "function", name: "look", inputSchema: { type: "object" } })],
    "ai.response.toolCalls": JSON.stringify([call]),
    "ai.response.msToFirstChunk": 250.5,
    "ai.settings.maxOutputTokens": 64,
    "ai.settings.temperature": 0.5,
    "ai.usage.inputTokens": 20,
    "ai.usage.outputTokens": 5,
    "ai.usage.cachedInputTokens": 8,
  }),
  span("tool", "ai.toolCall", 1100, 1600, { "ai.toolCall.name": "look" }),
  span("two", "ai.generateText.doGenerate", 2000, 3000, {
    "ai.prompt.messages": JSON.stringify([
      user,
      { role: "assistant", content: [call] },
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "c", toolName: "look", output: { type: "text", value: "seen" } },
        ],
      },
    ]),
    "ai.response.text": "done",
    "ai.usage.promptTokens": 30,
    "ai.usage.completionTokens": 6,
  }),
  span("vector", "ai.embed.doEmbed", 3100, 3200, { "ai.usage.tokens": 3 }),
];

describe("otel spans of the AI SDK", () => {
  it("takes its calls and tools, not the spans around them", async () => {
    const trace = await readWritten(otel, spans);
    expect(linksOf(trace)["t/one"]).toEqual([[], null]);
    expect(linksOf(trace)["t/two"]?.[0]).toEqual(["t/one"]);
    expect(linksOf(trace)["t/two"]?.[1]).toBeCloseTo(999.9995, 6);
    expect(trace.requests.at(0)).toMatchObject({
      max_tokens: 64,
      temperature: 0.5,
      recorded: { sent_ms: 0, first_token_ms: 250.5, prompt_tokens: 20, output_tokens: 5, cached_tokens: 8 },
      prompt: {
        messages: [
          { role: "system", content: "sys" },
          { role: "user", content: "go" },
        ],
        tools: [{ type: "function", function: { name: "look", parameters: { type: "object" } } }],
      },
    });
    expect(trace.requests.at(1)).toMatchObject({
      response_text: "done",
      tool: [{ name: "look" }],
      recorded: { prompt_tokens: 30, output_tokens: 6, cached_tokens: null },
      prompt: {
        messages: [
          { role: "user", content: "go" },
          {
            role: "assistant",
            tool_calls: [{ id: "c", type: "function", function: { name: "look", arguments: '{"at":"it"}' } }],
          },
          { role: "tool", tool_call_id: "c", content: "seen" },
        ],
      },
    });
    expect(trace.rows).toEqual({
      read: 5,
      used: 2,
      skipped: { "other span": 2, "tool span": 1 },
      refused: 0,
    });
  });

  it("refuses a time that is no pair of seconds and nanoseconds", async () => {
    await expect(readWritten(otel, [{ ...spans[1], startTime: [T0, 1e9] }])).rejects.toThrow(
      /\[0\]: "startTime" is no instant/,
    );
  });
});
