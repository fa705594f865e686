/** OpenTelemetry span events as Azure, Strands and others write them. */
import { describe, expect, it } from "vitest";
import { readWritten } from "../../../test/trace/written-trace.ts";
import { otel } from "./otel.ts";

const iso = (ms: number): string => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();
const named = { "gen_ai.operation.name": "chat", "gen_ai.request.model": "m" };
const chat = (id: string, from: number, events: readonly object[]): object => ({
  trace_id: "t",
  span_id: id,
  parent_span_id: null,
  name: "chat",
  start_time: iso(from),
  end_time: iso(from + 10),
  attributes: named,
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

  it("reads Pydantic AI's list of events", async () => {
    const events = [
      { "event.name": "gen_ai.system.message", role: "system", content: "be good" },
      { "event.name": "gen_ai.user.message", role: "user", content: "u" },
      { "event.name": "gen_ai.choice", index: 0, message: { role: "assistant", content: "a" } },
    ];
    const span = { ...chat("1", 0, []), attributes: { ...named, events: JSON.stringify(events) } };
    const trace = await readWritten(otel, [span]);
    expect(trace.requests.at(0)).toMatchObject({
      prompt: {
        messages: [
          { role: "system", content: "be good" },
          { role: "user", content: "u" },
        ],
      },
      response_text: "a",
    });
  });
});

describe("otel spans of Google's ADK", () => {
  const said = (role: string, ...parts: object[]): object => ({ role, parts });
  const request = {
    model: "gemini",
    config: {
      system_instruction: "be good",
      temperature: 0.5,
      tools: [{ function_declarations: [{ name: "f", description: "d" }] }],
    },
    contents: [
      said("user", { text: "u" }),
      said("model", { function_call: { id: "c", name: "f", args: { a: 1 } } }),
      said("user", { function_response: { id: "c", name: "f", response: { sky: "blue" } } }),
    ],
  };
  const told = {
    "gcp.vertex.agent.llm_request": JSON.stringify(request),
    "gcp.vertex.agent.llm_response": JSON.stringify({ content: said("model", { text: "done" }) }),
  };
  const usage = { "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2 };
  const expected = {
    temperature: 0.5,
    recorded: { prompt_tokens: 9, output_tokens: 2 },
    response_text: "done",
    prompt: {
      messages: [
        { role: "system", content: "be good" },
        { role: "user", content: "u" },
        { role: "assistant", tool_calls: [{ id: "c", function: { name: "f", arguments: '{"a":1}' } }] },
        { role: "tool", tool_call_id: "c", content: '{"sky":"blue"}' },
      ],
      tools: [{ type: "function", function: { name: "f", description: "d" } }],
    },
  };

  it("reads the request and the response whole", async () => {
    const span = {
      ...chat("1", 0, []),
      name: "call_llm",
      attributes: { "gen_ai.request.model": "gemini", ...told, ...usage },
    };
    const tool = {
      ...chat("2", 20, []),
      attributes: { "gen_ai.operation.name": "execute_tool", "gcp.vertex.agent.llm_request": "{}" },
    };
    const trace = await readWritten(otel, [span, tool]);
    expect(trace.requests).toHaveLength(1);
    expect(trace.requests.at(0)).toMatchObject(expected);
    expect(trace.rows.skipped).toEqual({ "tool span": 1 });
  });

  it("takes from the outer of two spans of one call what the inner does not tell", async () => {
    const outer = { ...chat("1", 0, []), attributes: { "gen_ai.request.model": "gemini", ...told } };
    const inner = {
      ...chat("2", 1, []),
      end_time: iso(9),
      parent_span_id: "1",
      attributes: { ...named, "gen_ai.operation.name": "generate_content", ...usage },
    };
    const trace = await readWritten(otel, [outer, inner]);
    expect(trace.requests).toHaveLength(1);
    expect(trace.requests.at(0)).toMatchObject({ ...expected, request_id: "t/2", temperature: 0.5 });
  });
});

describe("otel spans of MLflow", () => {
  const span = (id: string, from: number, attributes: Record<string, unknown>): object => ({
    name: id,
    context: { span_id: `0x${id}`, trace_id: "0xab" },
    parent_id: null,
    start_time: (Date.UTC(2026, 0, 1) + from) * 1e6,
    end_time: (Date.UTC(2026, 0, 1) + from + 10) * 1e6,
    status_code: "OK",
    attributes: Object.fromEntries(
      Object.entries(attributes).map(([key, value]) => [`mlflow.${key}`, JSON.stringify(value)]),
    ),
    events: [],
  });
  const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
  const asked = { role: "user", content: "u" };
  const called = { role: "assistant", content: null, tool_calls: [call] };

  it("reads requests, responses and usage from its JSON attributes", async () => {
    const trace = await readWritten(otel, {
      info: { trace_id: "tr-1" },
      data: {
        spans: [
          span("1", 0, { spanType: "AGENT", spanInputs: { q: "u" } }),
          span("2", 1, {
            spanType: "CHAT_MODEL",
            spanInputs: {
              model: "m",
              temperature: 0.1,
              messages: [asked],
              tools: [{ function: { name: "f" } }],
            },
            spanOutputs: { choices: [{ message: called }] },
            "chat.tokenUsage": { input_tokens: 8, output_tokens: 2, total_tokens: 10 },
          }),
          span("3", 11, { spanType: "TOOL", spanInputs: {}, spanOutputs: "r" }),
          span("4", 31, {
            spanType: "CHAT_MODEL",
            spanInputs: [[asked, called, { role: "tool", tool_call_id: "c", content: "r" }]],
            spanOutputs: { generations: [[{ text: "done", message: { type: "ai", content: "done" } }]] },
          }),
        ],
      },
    });
    expect(trace.requests).toMatchObject([
      {
        request_id: "ab/2",
        temperature: 0.1,
        recorded: { prompt_tokens: 8, output_tokens: 2 },
        prompt: { messages: [asked], tools: [{ function: { name: "f" } }] },
        metadata: { model: "m" },
      },
      {
        after: ["ab/2"],
        think_ms: 20,
        recorded: { prompt_tokens: null, output_tokens: null },
        prompt: { messages: [asked, called, { role: "tool", content: "r" }] },
        response_text: "done",
      },
    ]);
    expect(trace.rows.skipped).toEqual({ "other span": 1, "tool span": 1 });
  });
});
