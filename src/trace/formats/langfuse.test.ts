/** Langfuse exports of several SDKs: unordered rows, encoded strings, usage that counts the cache in or beside. */
import { describe, expect, it } from "vitest";
import { jsonl, linksOf, readWritten, rowsAddUp } from "../../../test/trace/written-trace.ts";
import { langfuse } from "./langfuse.ts";

const T0 = Date.UTC(2026, 0, 1);
const iso = (ms: number): string => new Date(T0 + ms).toISOString();
const row = (id: string, type: string, from: number, to: number, more: object = {}): object => ({
  id,
  traceId: "t",
  type,
  name: id,
  startTime: iso(from),
  endTime: iso(to),
  latency: 123456, // seconds or milliseconds, depending on the version: never used
  ...more,
});
const generation = (id: string, from: number, to: number, more: object): object =>
  row(id, "GENERATION", from, to, { usageDetails: {}, ...more });
const twice = (value: unknown): string => JSON.stringify(JSON.stringify(value));

describe("langfuse", () => {
  const observations = [
    row("search", "TOOL", 1100, 1900),
    generation("second", 2000, 3000, {
      input: JSON.stringify([
        { role: "user", content: "hi" },
        {
          role: "assistant",
          content: "",
          additional_kwargs: {
            tool_calls: [{ id: "c1", type: "function", function: { name: "search", arguments: "{}" } }],
          },
        },
        { role: "tool", tool_call_id: "c1", content: "found" },
        { role: "tool", content: { type: "function", function: { name: "search", parameters: {} } } },
      ]),
      output: JSON.stringify({ role: "assistant", content: "bye" }),
      usageDetails: { input: 50, output: 5, total: 55, input_cache_read: 20 },
      modelParameters: { temperature: "0.5", max_tokens: 100 },
    }),
    row("root", "SPAN", 0, 3100),
    generation("first", 0, 1000, {
      parentObservationId: "root",
      input: twice({ messages: [{ type: "human", content: "hi" }] }),
      output: twice({
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c1", function: { name: "search", arguments: "{}" } }],
      }),
      usageDetails: {
        input: 10,
        output: 7,
        total: 47,
        input_cache_read: 20,
        input_cache_creation: 8,
        output_reasoning: 2,
      },
      completionStartTime: iso(400),
    }),
  ];

  it("orders rows by time, decodes strings, finds tools and the cache wherever they are", async () => {
    const trace = await readWritten(langfuse, { trace: { id: "t" }, observations });
    expect(linksOf(trace)).toEqual({ "t/first": [[], null], "t/second": [["t/first"], 1000] });
    expect(trace.requests).toMatchObject([
      {
        arrival_ms: 0,
        recorded: {
          sent_ms: 0,
          first_token_ms: 400,
          end_ms: 1000,
          prompt_tokens: 38,
          output_tokens: 9,
          cached_tokens: 20,
        },
        prompt: { messages: [{ role: "user", content: "hi" }] },
      },
      {
        arrival_ms: 2000,
        temperature: 0.5,
        max_tokens: 100,
        tool: [{ name: "search", ms: 800 }],
        recorded: { prompt_tokens: 50, output_tokens: 5, cached_tokens: 20 },
        response_text: "bye",
        prompt: {
          tools: [{ type: "function", function: { name: "search", parameters: {} } }],
          messages: [
            { role: "user", content: "hi" },
            { role: "assistant", tool_calls: [{ id: "c1" }] },
            { role: "tool", tool_call_id: "c1", content: "found" },
          ],
        },
      },
    ]);
    expect(trace.rows).toEqual({ read: 4, used: 2, skipped: { span: 1, tool: 1 }, refused: 0 });
  });

  it("reads the API's trace, a list of traces, rows of observations, and older usage", async () => {
    const old = generation("g", 0, 10, {
      input: "hi",
      output: "ho",
      usageDetails: undefined,
      usage: { promptTokens: 3, completionTokens: 4 },
    });
    const shapes: unknown[] = [
      { id: "t", name: "x", observations: [old] },
      [{ trace: { id: "t" }, observations: [old] }],
      [old],
      jsonl([old, row("s", "SPAN", 0, 5)]),
    ];
    for (const shape of shapes) {
      const trace = await readWritten(langfuse, shape);
      expect(trace.requests).toMatchObject([
        { job_id: "t", response_text: "ho", recorded: { prompt_tokens: 3, output_tokens: 4 } },
      ]);
      expect(rowsAddUp(trace)).toBe(true);
    }
  });

  it("reads the Responses API's items, its instructions as the system prompt", async () => {
    const trace = await readWritten(langfuse, {
      trace: { id: "t" },
      observations: [
        generation("g", 0, 10, {
          input: JSON.stringify([
            { role: "user", content: "w?" },
            { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
            { type: "function_call_output", call_id: "c", output: "sun" },
          ]),
          output: JSON.stringify({
            id: "r",
            output: [
              { type: "message", role: "assistant", content: [{ type: "output_text", text: "sunny" }] },
            ],
          }),
          modelParameters: { instructions: "be kind" },
        }),
      ],
    });
    expect(trace.requests.at(0)).toMatchObject({
      response_text: "sunny",
      recorded: { prompt_tokens: null, output_tokens: null },
      prompt: {
        messages: [
          { role: "system", content: "be kind" },
          { role: "user", content: "w?" },
          { role: "assistant", tool_calls: [{ id: "c", function: { name: "f" } }] },
          { role: "tool", tool_call_id: "c", content: "sun" },
        ],
      },
    });
  });

  it("refuses by place, counts a repeated row once", async () => {
    const bad = {
      trace: { id: "t" },
      observations: [
        { id: "x", type: "GENERATION", startTime: "yesterday", traceId: "t" },
        ...observations,
        observations[1],
      ],
    };
    await expect(readWritten(langfuse, bad)).rejects.toThrow(
      /trace\.json: observations\[0\]: "startTime" is no instant/,
    );
    const trace = await readWritten(langfuse, bad, { skipBad: true });
    expect(trace.rows).toEqual({
      read: 6,
      used: 2,
      skipped: { "observation exported twice": 1, span: 1, tool: 1 },
      refused: 1,
    });
  });
});

describe("langfuse exports of other kinds", () => {
  it("reads the export to a bucket: rows in snake_case, counts as text", async () => {
    const trace = await readWritten(
      langfuse,
      jsonl([
        {
          id: "g",
          trace_id: "t",
          type: "GENERATION",
          name: "g",
          start_time: "2026-01-01 00:00:00.000",
          end_time: "2026-01-01 00:00:02.500",
          completion_start_time: "2026-01-01 00:00:00.400",
          parent_observation_id: null,
          provided_model_name: "m",
          model_parameters: '{"temperature":0.1}',
          usage_details: { input: "12", output: "3", total: "15" },
          input: '[{"role":"user","content":"hi"}]',
          output: '{"role":"assistant","content":"ho"}',
          metadata: {},
        },
        {
          id: "s",
          trace_id: "t",
          type: "SPAN",
          name: "s",
          start_time: "2026-01-01 00:00:00",
          end_time: null,
        },
      ]),
    );
    expect(trace.requests).toMatchObject([
      {
        request_id: "t/g",
        temperature: 0.1,
        recorded: { prompt_tokens: 12, output_tokens: 3, first_token_ms: 400, end_ms: 2500 },
        metadata: { model: "m" },
      },
    ]);
    expect(trace.rows).toEqual({ read: 2, used: 1, skipped: { span: 1 }, refused: 0 });
  });

  it("does not count a generation that only wraps others", async () => {
    const counts = (input: number): object => ({
      usageDetails: { input, output: 1, total: input + 1 },
      input: "q",
    });
    const trace = await readWritten(langfuse, [
      generation("run", 0, 900, counts(30)),
      row("span", "SPAN", 0, 900, { parentObservationId: "run" }),
      generation("one", 10, 400, { ...counts(10), parentObservationId: "span" }),
      generation("two", 500, 890, { ...counts(20), parentObservationId: "span" }),
      // Beside its time: another call, not a part.
      generation("late", 950, 990, { ...counts(5), parentObservationId: "two" }),
    ]);
    expect(trace.requests.map(({ request_id }) => request_id)).toEqual(["t/one", "t/two", "t/late"]);
    expect(trace.rows).toEqual({
      read: 5,
      used: 3,
      skipped: { "generation around another": 1, span: 1 },
      refused: 0,
    });
    expect(trace.notes).toContain("1 generations only wrap another one and are not counted again");
  });

  it("tells of an export without text that it has lengths only", async () => {
    const usageDetails = { input: 30, output: 1, total: 31 };
    const trace = await readWritten(langfuse, [generation("one", 0, 900, { usageDetails })]);
    expect(trace.provenance).toMatchObject({
      prompt_text: "missing",
      prefix_sharing: "missing",
      prompt_length: "recorded",
      output_length: "recorded",
    });
  });

  it("does not take for told what only a wrapping generation tells", async () => {
    const usageDetails = { input: 30, output: 1, total: 31 };
    const trace = await readWritten(langfuse, [
      generation("run", 0, 900, { input: "q", usageDetails, modelParameters: { temperature: 0 } }),
      generation("one", 10, 400, { input: "q", parentObservationId: "run" }),
    ]);
    expect(trace.requests.map(({ request_id }) => request_id)).toEqual(["t/one"]);
    const { prompt_length, output_length, sampling } = trace.provenance;
    expect([prompt_length, output_length, sampling]).toEqual(["missing", "missing", "missing"]);
  });

  it("completes a call that tells a stateful API only a tool's result, and finds its tools in the attributes", async () => {
    const attributes = { "gen_ai.tool.definitions": JSON.stringify([{ name: "search", parameters: {} }]) };
    const part = (type: string, more: object): object => ({ type, id: "c1", ...more });
    const trace = await readWritten(langfuse, [
      generation("first", 0, 1000, {
        input: [
          { role: "system", content: "be good" },
          { role: "user", content: "hi" },
        ],
        output: [{ role: "assistant", parts: [part("tool_call", { name: "search", arguments: "{}" })] }],
        metadata: JSON.stringify({ attributes }),
      }),
      generation("second", 1500, 2000, {
        input: [{ role: "tool", parts: [part("tool_call_response", { response: "found" })] }],
        output: "bye",
      }),
    ]);
    expect(linksOf(trace)).toEqual({ "t/first": [[], null], "t/second": [["t/first"], 500] });
    expect(trace.requests.map(({ prompt }) => prompt)).toMatchObject([
      { tools: [{ type: "function", function: { name: "search" } }] },
      {
        messages: [
          { role: "system", content: "be good" },
          { role: "user", content: "hi" },
          { role: "assistant", tool_calls: [{ id: "c1" }] },
          { role: "tool", tool_call_id: "c1", content: "found" },
        ],
      },
    ]);
    expect(trace.notes).toContain(
      "1 calls tell only what is new in them: their prompts begin with the call before",
    );
  });
});
