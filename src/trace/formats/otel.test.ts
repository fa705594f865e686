/** OpenTelemetry spans: all the shapes and names exporters use, and inferred dependencies by hand. */
import { describe, expect, it } from "vitest";
import { jsonl, linksOf, readWritten, rowsAddUp } from "../../../test/trace/written-trace.ts";
import { otel } from "./otel.ts";

interface Flat {
  id: string;
  from: number;
  to: number;
  attributes: Record<string, unknown>;
  parent?: string;
  events?: unknown[];
}
const T0 = Date.UTC(2026, 1, 25, 10);
const iso = (ms: number): string => new Date(T0 + ms).toISOString();
const flat = ({ id, from, to, attributes, parent, events }: Flat): object => ({
  trace_id: "t",
  span_id: id,
  parent_span_id: parent ?? null,
  name: "chat",
  start_time: iso(from),
  end_time: iso(to),
  attributes,
  events,
});
const chat = (
  input: unknown,
  output: string,
  more: Record<string, unknown> = {},
): Record<string, unknown> => ({
  "gen_ai.operation.name": "chat",
  "gen_ai.request.model": "m",
  "gen_ai.input.messages": JSON.stringify(input),
  "gen_ai.output.messages": JSON.stringify([{ role: "assistant", content: output }]),
  ...more,
});
const user = (content: string): object => ({ role: "user", content });
const said = (content: string): object => ({ role: "assistant", content });

describe("otel dependencies", () => {
  it("follows the outputs that an input holds, and time where it holds none", async () => {
    const trace = await readWritten(otel, {
      spans: [
        // listed out of order: time counts, not place
        flat({
          id: "join",
          from: 6000,
          to: 7000,
          attributes: chat(
            [
              user("q"),
              said("plan made"),
              user("the report of west: rain from the west all day"),
              user("and of the east"),
            ],
            "done",
          ),
        }),
        flat({ id: "plan", from: 0, to: 1000, attributes: chat([user("q")], "plan made") }),
        flat({
          id: "west",
          from: 1500,
          to: 4000,
          attributes: chat([user("look west")], "rain from the west all day"),
        }),
        flat({
          id: "east",
          from: 2000,
          to: 5000,
          attributes: chat([user("look east")], "sun from the east"),
        }),
        flat({ id: "after", from: 9000, to: 9500, attributes: chat([user("something else")], "ok") }),
      ],
    });
    expect(linksOf(trace)).toEqual({
      "t/plan": [[], null],
      "t/west": [["t/plan"], 500], // no text in common: what had ended before
      "t/east": [["t/plan"], 1000],
      "t/join": [["t/west"], 2000], // its input quotes west; plan is behind west anyway; nothing of east
      "t/after": [["t/join"], 2000],
    });
  });

  it("joins parallel calls by time", async () => {
    const bare = {
      "gen_ai.operation.name": "chat",
      "gen_ai.usage.prompt_tokens": 5,
      "gen_ai.usage.completion_tokens": 2,
    };
    const trace = await readWritten(otel, {
      spans: [
        flat({ id: "a", from: 0, to: 1000, attributes: bare }),
        flat({ id: "b", from: 1100, to: 3000, attributes: bare }),
        flat({ id: "c", from: 1200, to: 2000, attributes: bare }),
        flat({ id: "d", from: 3500, to: 4000, attributes: bare }),
      ],
    });
    expect(linksOf(trace)).toEqual({
      "t/a": [[], null],
      "t/b": [["t/a"], 100],
      "t/c": [["t/a"], 200],
      "t/d": [["t/b", "t/c"], 500],
    });
    expect(trace.requests.at(0)?.prompt).toMatchObject({ kind: "length", tokens: 5 });
    expect(trace.requests.at(0)?.recorded).toMatchObject({ prompt_tokens: 5, output_tokens: 2 });
  });

  it("takes the latest of equal outputs, and tool spans for the time between", async () => {
    const trace = await readWritten(otel, {
      spans: [
        flat({ id: "a", from: 0, to: 1000, attributes: chat([user("1")], "ok") }),
        flat({ id: "b", from: 2000, to: 3000, attributes: chat([user("1"), said("ok"), user("2")], "ok") }),
        flat({
          id: "tool",
          from: 3100,
          to: 4900,
          attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search" },
        }),
        flat({
          id: "c",
          from: 5000,
          to: 6000,
          attributes: chat([user("1"), said("ok"), user("2"), said("ok"), user("3")], "x"),
        }),
      ],
    });
    expect(linksOf(trace)["t/c"]).toEqual([["t/b"], 2000]);
    expect(trace.requests.at(2)?.tool).toEqual([{ name: "search", ms: 1800 }]);
    expect(trace.rows).toEqual({ read: 4, used: 3, skipped: { "tool span": 1 }, refused: 0 });
  });

  it("counts a call once when two instrumentations saw it, but not a child that came later", async () => {
    const trace = await readWritten(otel, {
      spans: [
        flat({ id: "outer", from: 0, to: 1000, attributes: chat([user("1")], "x") }),
        flat({
          id: "agent",
          from: 5,
          to: 995,
          parent: "outer",
          attributes: { "gen_ai.operation.name": "invoke_agent" },
        }),
        flat({ id: "inner", from: 10, to: 990, parent: "agent", attributes: chat([user("1")], "x") }),
        flat({ id: "next", from: 2000, to: 3000, parent: "outer", attributes: chat([user("2")], "y") }),
      ],
    });
    expect(trace.requests.map(({ request_id }) => request_id)).toEqual(["t/inner", "t/next"]);
    expect(trace.rows.skipped).toEqual({ "other span": 1, "span around a model span": 1 });
    expect(rowsAddUp(trace)).toBe(true);
  });
});

describe("otel shapes and names", () => {
  const wrap = (value: unknown): object =>
    typeof value === "number" ? { intValue: String(value) } : { stringValue: value };
  const otlpSpan = {
    traceId: "5b8efff798038103d269b633813fc60c",
    spanId: "eee19b7ec3c1b174",
    name: "chat m",
    startTimeUnixNano: "1700000000123456789",
    endTimeUnixNano: "1700000001123456789",
    attributes: Object.entries({
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": "m",
      "gen_ai.request.max_tokens": 100,
      "gen_ai.usage.input_tokens": 12,
      "gen_ai.usage.output_tokens": 3,
      "gen_ai.system_instructions": JSON.stringify([{ type: "text", content: "be brief" }]),
      "gen_ai.input.messages": JSON.stringify([
        { role: "user", parts: [{ type: "text", content: "hi" }] },
        {
          role: "assistant",
          parts: [
            { type: "reasoning", content: "hm" },
            { type: "tool_call", id: "c1", name: "f", arguments: { a: 1 } },
          ],
        },
        { role: "tool", parts: [{ type: "tool_call_response", id: "c1", response: "42" }] },
      ]),
      "gen_ai.output.messages": JSON.stringify([
        { role: "assistant", parts: [{ type: "text", content: "bye" }], finish_reason: "stop" },
      ]),
    }).map(([key, value]) => ({ key, value: wrap(value) })),
    status: {},
  };
  const document = { resourceSpans: [{ resource: {}, scopeSpans: [{ scope: {}, spans: [otlpSpan] }] }] };

  it("reads OTLP JSON: wrapped values, nanoseconds, parts", async () => {
    const { requests, header } = await readWritten(otel, document);
    expect(requests).toHaveLength(1);
    expect(requests.at(0)).toMatchObject({
      arrival_ms: 0,
      max_tokens: 100,
      recorded: { sent_ms: 0, end_ms: 1000, prompt_tokens: 12, output_tokens: 3 },
      response_text: "bye",
      prompt: {
        messages: [
          { role: "system", content: "be brief" },
          { role: "user", content: "hi" },
          {
            role: "assistant",
            content: null,
            tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: '{"a":1}' } }],
          },
          { role: "tool", tool_call_id: "c1", content: "42" },
        ],
      },
    });
    expect(header?.["epoch_ms"]).toBeCloseTo(1700000000123.4568, 3);
  });

  it("reads one OTLP document a line, as collectors write them, and names a bad line", async () => {
    const second = {
      ...otlpSpan,
      spanId: "ffe19b7ec3c1b174",
      startTimeUnixNano: "1700000002123456789",
      endTimeUnixNano: "1700000003123456789",
    };
    const lines = jsonl([document, { resourceSpans: [{ scopeSpans: [{ spans: [second, otlpSpan] }] }] }]);
    const trace = await readWritten(otel, `${lines}\n`);
    expect(trace.requests.map(({ arrival_ms }) => arrival_ms)).toEqual([0, 2000]);
    expect(trace.rows.skipped).toEqual({ "span exported twice": 1 });
    await expect(readWritten(otel, `${lines}\n{"resourceSpans":[`)).rejects.toThrow(
      /trace\.json:3: not valid JSON/,
    );
  });

  it("reads OpenLLMetry's and OpenInference's numbered keys", async () => {
    const openllmetry = {
      "llm.request.type": "chat",
      "gen_ai.request.model": "m",
      "gen_ai.prompt.0.role": "system",
      "gen_ai.prompt.0.content": "s",
      "gen_ai.prompt.1.role": "user",
      "gen_ai.prompt.1.content": "u",
      "gen_ai.completion.0.role": "assistant",
      "gen_ai.completion.0.content": "answer",
      "gen_ai.usage.prompt_tokens": 7,
      "gen_ai.usage.completion_tokens": 1,
    };
    const openinference = {
      "openinference.span.kind": "LLM",
      "llm.model_name": "m",
      "llm.input_messages.0.message.role": "user",
      "llm.input_messages.0.message.content": "u",
      "llm.input_messages.1.message.role": "assistant",
      "llm.input_messages.1.message.tool_calls.0.tool_call.id": "c9",
      "llm.input_messages.1.message.tool_calls.0.tool_call.function.name": "f",
      "llm.input_messages.1.message.tool_calls.0.tool_call.function.arguments": "{}",
      "llm.input_messages.2.message.role": "tool",
      "llm.input_messages.2.message.tool_call_id": "c9",
      "llm.input_messages.2.message.content": "r",
      "llm.output_messages.0.message.role": "assistant",
      "llm.output_messages.0.message.content": "answer",
      "llm.token_count.prompt": 30,
      "llm.token_count.completion": 4,
      "llm.token_count.prompt_details.cache_read": 10,
      "llm.invocation_parameters": JSON.stringify({ temperature: 0.2, max_tokens: 64, top_p: 0.9 }),
    };
    const trace = await readWritten(otel, [
      flat({ id: "a", from: 0, to: 10, attributes: openllmetry }),
      flat({ id: "b", from: 20, to: 30, attributes: openinference }),
      flat({
        id: "chain",
        from: 0,
        to: 40,
        attributes: { "openinference.span.kind": "CHAIN", "input.value": "x" },
      }),
    ]);
    expect(trace.requests.at(0)).toMatchObject({
      prompt: {
        messages: [
          { role: "system", content: "s" },
          { role: "user", content: "u" },
        ],
      },
      recorded: { prompt_tokens: 7, output_tokens: 1 },
      response_text: "answer",
    });
    expect(trace.requests.at(1)).toMatchObject({
      temperature: 0.2,
      max_tokens: 64,
      params: { top_p: 0.9 },
      recorded: { prompt_tokens: 30, output_tokens: 4, cached_tokens: 10 },
      prompt: {
        messages: [
          { role: "user", content: "u" },
          { role: "assistant", tool_calls: [{ id: "c9", function: { name: "f", arguments: "{}" } }] },
          { role: "tool", tool_call_id: "c9", content: "r" },
        ],
      },
    });
    expect(trace.rows.skipped).toEqual({ "other span": 1 });
  });

  it("reads messages from span events, the console exporter's and Jaeger's spans", async () => {
    const events = [
      { name: "gen_ai.system.message", timestamp: iso(0), attributes: { content: "s" } },
      { name: "gen_ai.user.message", timestamp: iso(0), attributes: { content: "u" } },
      { name: "gen_ai.choice", timestamp: iso(9), attributes: { message: '{"content":"a"}' } },
    ];
    const attributes = { "gen_ai.operation.name": "chat", "gen_ai.request.model": "m" };
    const console = {
      ...flat({ id: "-", from: 0, to: 10, attributes, events }),
      span_id: undefined,
      trace_id: undefined,
      context: { trace_id: "0xabc", span_id: "0xdef" },
    };
    const own = await readWritten(otel, [console]);
    expect(own.requests.at(0)).toMatchObject({
      request_id: "abc/def",
      response_text: "a",
      prompt: {
        messages: [
          { role: "system", content: "s" },
          { role: "user", content: "u" },
        ],
      },
    });
    const jaeger = {
      data: [
        {
          traceID: "j",
          spans: [
            {
              traceID: "j",
              spanID: "1",
              operationName: "chat",
              startTime: 1700000000000000,
              duration: 2500,
              tags: [
                { key: "gen_ai.operation.name", type: "string", value: "chat" },
                { key: "gen_ai.prompt.0.content", value: "hi" },
              ],
              logs: [],
            },
          ],
        },
      ],
    };
    const theirs = await readWritten(otel, jaeger);
    expect(theirs.requests.at(0)).toMatchObject({
      recorded: { sent_ms: 0, end_ms: 2.5 },
      prompt: { messages: [{ role: "user", content: "hi" }] },
    });
  });
});

describe("otel bad input", () => {
  it("refuses spans that tell nothing to send, by their place", async () => {
    const spans = [
      flat({ id: "a", from: 0, to: 1, attributes: { "gen_ai.operation.name": "chat" } }),
      flat({ id: "b", from: 5, to: 1, attributes: chat([user("u")], "x") }),
      { trace_id: "t" },
      flat({ id: "c", from: 0, to: 1, attributes: chat([user("u")], "x") }),
    ];
    await expect(readWritten(otel, { spans })).rejects.toThrow(
      /trace\.json: spans\[0\]: the call tells neither its messages/,
    );
    const trace = await readWritten(otel, { spans }, { skipBad: true });
    expect(trace.faults.map(({ reason }) => reason)).toEqual([
      "spans[0]: the call tells neither its messages nor its prompt tokens",
      "spans[1]: the call ends before it starts",
      'spans[2]: "span_id" is missing',
    ]);
    expect(trace.requests).toHaveLength(1);
    expect(rowsAddUp(trace)).toBe(true);
    await expect(readWritten(otel, { traces: 1 })).rejects.toThrow(/no spans in it/);
  });
});
