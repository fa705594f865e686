/** OpenTelemetry span events as Azure, Strands and others write them. */
import { describe, expect, it } from "vitest";
import { readWritten } from "../../../test/trace/written-trace.ts";
import { otel } from "./otel.ts";

const iso = (ms: number): string => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();
const chat = (id: string, from: number, events: readonly object[]): object => ({
  trace_id: "t",
  span_id: id,
  parent_span_id: null,
  name: "chat",
  start_time: iso(from),
  end_time: iso(from + 10),
  attributes: { "gen_ai.operation.name": "chat", "gen_ai.request.model": "m" },
  events,
});
const event = (name: string, attributes: object): object => ({
  name: `gen_ai.${name}`,
  timestamp: iso(0),
  attributes,
});

describe("otel span events", () => {
  it.each([
    [
      "whole messages in gen_ai.event.content",
      (message: object) => ({ "gen_ai.event.content": JSON.stringify(message) }),
      {
        content: null,
        tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
      },
      { id: "c", content: '{"sky": "blue"}' },
      (message: object) => ({ "gen_ai.event.content": JSON.stringify({ message, finish_reason: "stop" }) }),
    ],
    [
      "Bedrock's blocks",
      ({ content }: { content: unknown }) => ({ content: JSON.stringify(content) }),
      {
        content: [
          { reasoningContent: { reasoningText: { text: "hm" } } },
          { toolUse: { toolUseId: "c", name: "f", input: {} } },
        ],
      },
      { content: [{ toolResult: { toolUseId: "c", content: [{ json: { sky: "blue" } }] } }] },
      ({ content }: { content: unknown }) => ({ message: JSON.stringify(content) }),
    ],
  ] as [string, (message: object) => object, object, object, (message: object) => object][])(
    "reads calls, results and answers from events: %s",
    async (_, told, called, answered, chosen) => {
      const asked = event("user.message", told({ role: "user", content: "u" }));
      const trace = await readWritten(otel, [
        chat("1", 0, [asked, event("choice", chosen(called))]),
        chat("2", 20, [
          asked,
          event("assistant.message", told(called)),
          event("tool.message", told(answered)),
          event("choice", chosen({ content: "done" })),
        ]),
      ]);
      const second = trace.requests.at(1);
      expect(second?.prompt).toMatchObject({
        messages: [
          { role: "user", content: "u" },
          { role: "assistant", content: null, tool_calls: [{ id: "c", function: { name: "f" } }] },
          {
            role: "tool",
            tool_call_id: "c",
            content: expect.stringMatching(/^\{"sky": ?"blue"\}$/) as string,
          },
        ],
      });
      expect(second?.response_text).toBe("done");
      expect(trace.notes.join()).toContain("1 requests hold an earlier output");
    },
  );
});
