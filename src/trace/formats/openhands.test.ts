/** OpenHands in its three forms: V0 events, SDK events, LLM logs. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { jsonl, linksOf, messagesOf, readWritten, rowsAddUp } from "../../../test/trace/written-trace.ts";
import { openhands } from "./openhands.ts";
import { openhandsLlmLog } from "./openhands-llm-log.ts";
import { openhandsSdk } from "./openhands-sdk.ts";

const T0 = Date.UTC(2025, 0, 27);
/** As Python writes it: no zone, microseconds. */
const iso = (ms: number): string => new Date(T0 + ms).toISOString().replace("Z", "000");

describe("openhands V0", () => {
  const response = (id: string, calls: string[], prompt: number, output: number): object => ({
    id,
    model: "m",
    choices: [
      {
        message: {
          role: "assistant",
          content: "t",
          tool_calls: calls.map((call) => ({
            id: call,
            type: "function",
            function: { name: "run", arguments: "{}" },
          })),
        },
      },
    ],
    usage: { prompt_tokens: prompt, completion_tokens: output, prompt_tokens_details: { cached_tokens: 2 } },
  });
  const act = (id: number, at: number, call: string, model_response: object): object => ({
    id,
    timestamp: iso(at),
    source: "agent",
    action: "run",
    args: {},
    tool_call_metadata: { function_name: "run", tool_call_id: call, model_response },
  });
  const observe = (id: number, at: number, call: string, model_response: object): object => ({
    id,
    timestamp: iso(at),
    source: "agent",
    observation: "run",
    content: `result of ${call}`,
    cause: id - 1,
    tool_call_metadata: { function_name: "run", tool_call_id: call, model_response },
  });
  const r1 = response("r1", ["c1", "c2"], 10, 5);
  const r2 = response("r2", ["c3"], 30, 6);
  const events = [
    {
      id: 0,
      timestamp: iso(0),
      source: "agent",
      action: "system",
      args: { content: "sys", tools: [{ type: "function", function: { name: "run" } }] },
    },
    { id: 1, timestamp: iso(100), source: "user", action: "message", args: { content: "go" } },
    { id: 2, timestamp: iso(110), source: "environment", observation: "agent_state_changed", content: "" },
    act(3, 2000, "c1", r1),
    observe(4, 2500, "c1", r1),
    act(5, 2600, "c2", r1),
    observe(6, 4600, "c2", r1),
    act(7, 6000, "c3", r2),
    // a plain answer: made by the model, but without its response
    { id: 8, timestamp: iso(8000), source: "agent", action: "message", args: { content: "done" } },
  ];

  it("tells the model what it recalled of its workspace", async () => {
    const recall = (id: number, extras: object): object => ({
      id,
      timestamp: iso(120),
      source: "environment",
      observation: "recall",
      content: "Added workspace context",
      extras: { recall_type: "workspace_context", ...extras },
    });
    const knowledge = [{ name: "github", trigger: "github", content: "use the API" }];
    const trace = await readWritten(openhands, [
      ...events.slice(0, 3),
      recall(20, { repo_instructions: "run make", microagent_knowledge: knowledge }),
      recall(21, { repo_instructions: "", microagent_knowledge: [] }),
      ...events.slice(3),
    ]);
    expect(trace.requests.at(0)?.prompt).toMatchObject({
      messages: [
        { role: "system" },
        { role: "user", content: "go" },
        { role: "user", content: "run make\n\nuse the API" },
      ],
    });
    expect(trace.rows.skipped).toMatchObject({ "observation recall": 1 });
    expect(rowsAddUp(trace)).toBe(true);
  });

  it("counts a response once by its id, however many events repeat it", async () => {
    const trace = await readWritten(openhands, events, { name: "job.json" });
    expect(trace.requests.map(({ recorded }) => recorded)).toMatchObject([
      { sent_ms: 0, end_ms: 1900, prompt_tokens: 10, output_tokens: 5, cached_tokens: 2 },
      { sent_ms: 4500, end_ms: 5900, prompt_tokens: 30, output_tokens: 6 },
      { end_ms: 7900, prompt_tokens: null, output_tokens: null },
    ]);
    expect(linksOf(trace)).toEqual({
      "job/0": [[], null],
      "job/1": [["job/0"], 2600],
      "job/2": [["job/1"], 0], // nothing was logged between: asked again at once
    });
    expect(trace.requests.at(1)).toMatchObject({
      tool: [
        { name: "run", ms: 500 },
        { name: "run", ms: 2000 },
      ],
      prompt: {
        messages: [
          { role: "system", content: "sys" },
          { role: "user", content: "go" },
          { role: "assistant", content: "t", tool_calls: [{ id: "c1" }, { id: "c2" }] },
          { role: "tool", tool_call_id: "c1", content: "result of c1" },
          { role: "tool", tool_call_id: "c2", content: "result of c2" },
        ],
        tools: [{ type: "function", function: { name: "run" } }],
      },
    });
    expect(trace.rows.skipped).toEqual({ "observation agent_state_changed": 1 });
    expect(rowsAddUp(trace)).toBe(true);
  });

  it("refuses by place", async () => {
    await expect(readWritten(openhands, [{ source: "user" }])).rejects.toThrow(
      /\[0\]: neither "action" nor "observation"/,
    );
    await expect(readWritten(openhands, "7")).rejects.toThrow(/"events" must be an array/);
  });
});

describe("openhands SDK", () => {
  const event = (kind: string, at: number, more: object): object => ({
    kind,
    id: `${kind}${at}`,
    timestamp: iso(at),
    source: "agent",
    ...more,
  });
  const stats = (at: number, prompt: number, output: number, own: number): object =>
    event("ConversationStateUpdateEvent", at, {
      key: "stats",
      value: {
        usage_to_metrics: {
          default: {
            accumulated_token_usage: {
              prompt_tokens: prompt,
              completion_tokens: output,
              cache_read_tokens: 0,
              per_turn_token: own,
            },
          },
        },
      },
    });
  const action = (at: number, response: string, call: string): object =>
    event("ActionEvent", at, {
      llm_response_id: response,
      thought: [{ type: "text", text: "hm" }],
      tool_name: "terminal",
      tool_call_id: call,
      tool_call: { id: call, name: "terminal", arguments: "{}" },
    });
  const observation = (at: number, call: string): object =>
    event("ObservationEvent", at, {
      source: "environment",
      tool_name: "terminal",
      tool_call_id: call,
      observation: { content: [{ type: "text", text: `out ${call}` }] },
    });
  const conversation = [
    event("SystemPromptEvent", 0, {
      system_prompt: { type: "text", text: "sys" },
      tools: [{ type: "function", function: { name: "terminal" } }],
    }),
    event("MessageEvent", 10, {
      source: "user",
      llm_message: { role: "user", content: [{ type: "text", text: "go" }] },
    }),
    stats(1000, 100, 20, 120),
    action(1001, "r1", "c1"),
    action(1002, "r1", "c2"),
    observation(1500, "c1"),
    observation(3000, "c2"),
    stats(4000, 250, 50, 180), // 150 + 30
    event("MessageEvent", 4001, {
      llm_response_id: "r2",
      llm_message: { role: "assistant", content: [{ type: "text", text: "done" }] },
    }),
  ];

  it("reads responses once, and their counts from the running totals", async () => {
    const trace = await readWritten(openhandsSdk, jsonl(conversation), { name: "conv.jsonl" });
    expect(linksOf(trace)).toEqual({ "conv/0": [[], null], "conv/1": [["conv/0"], 1998] });
    expect(trace.requests).toMatchObject([
      {
        recorded: { prompt_tokens: 100, output_tokens: 20 },
        prompt: { messages: [{ role: "system" }, { role: "user", content: "go" }] },
      },
      {
        recorded: { prompt_tokens: 150, output_tokens: 30 },
        tool: [
          { name: "terminal", ms: 499 },
          { name: "terminal", ms: 1998 },
        ],
        prompt: {
          messages: [
            { role: "system", content: "sys" },
            { role: "user", content: "go" },
            { role: "assistant", content: "hm", tool_calls: [{ id: "c1" }] },
            { role: "assistant", tool_calls: [{ id: "c2" }] },
            { role: "tool", tool_call_id: "c1", content: "out c1" },
            { role: "tool", tool_call_id: "c2", content: "out c2" },
          ],
        },
      },
    ]);
  });

  it("does not guess counts from totals that enclose more than one call", async () => {
    const rows = conversation.map((row) => ("key" in row ? stats(1000, 100, 20, 77) : row));
    const trace = await readWritten(openhandsSdk, jsonl(rows), { name: "conv.jsonl" });
    expect(trace.requests.map(({ recorded }) => recorded?.prompt_tokens)).toEqual([null, null]);
  });

  it("drops forgotten events and puts their summary in their place", async () => {
    const rows = [
      ...conversation,
      event("Condensation", 5000, {
        forgotten_event_ids: [
          "ActionEvent1001",
          "ActionEvent1002",
          "ObservationEvent1500",
          "ObservationEvent3000",
        ],
        summary: "ran two commands",
        summary_offset: 2,
      }),
      event("MessageEvent", 6000, { source: "user", llm_message: { role: "user", content: "more" } }),
      event("MessageEvent", 7000, {
        llm_response_id: "r3",
        llm_message: { role: "assistant", content: "ok" },
      }),
    ];
    const trace = await readWritten(openhandsSdk, jsonl(rows), { name: "conv.jsonl" });
    expect(messagesOf(trace, 2)).toEqual([
      ["system", "sys"],
      ["user", "go"],
      ["user", "ran two commands"],
      ["assistant", "done"],
      ["user", "more"],
    ]);
  });
});

describe("openhands LLM logs", () => {
  const folder = mkdtempSync(join(tmpdir(), "reprise-llm-logs-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const call = (
    ended: number,
    latency: number | undefined,
    messages: object[],
    answer: string,
    more: object = {},
  ): object => ({
    messages,
    tools: [{ type: "function", function: { name: "run" } }],
    kwargs: { temperature: 0 },
    response: {
      choices: [{ message: { role: "assistant", content: answer } }],
      usage: { prompt_tokens: 10, completion_tokens: 3 },
    },
    timestamp: T0 / 1000 + ended,
    latency_sec: latency,
    ...more,
  });
  const user = { role: "user", content: "hi" };

  it("reads a folder as one conversation: sent = timestamp − latency", async () => {
    const path = join(folder, "logs");
    mkdirSync(path);
    writeFileSync(join(path, "a-1.json"), JSON.stringify(call(4, 4, [user], "first answer, long enough")));
    writeFileSync(
      join(path, "b-2.json"),
      JSON.stringify(
        call(10, 2.5, [user, { role: "assistant", content: "first answer, long enough" }, user], "x", {
          raw_messages: [],
        }),
      ),
    );
    const trace = await openhandsLlmLog.read(path, { skipBad: false });
    expect(linksOf(trace)).toEqual({ "a-1": [[], null], "b-2": [["a-1"], 3500] });
    expect(
      trace.requests.map(({ arrival_ms, prompt }) => [
        arrival_ms,
        prompt.kind === "messages" && prompt.tools?.length,
      ]),
    ).toEqual([
      [0, 1],
      [7500, undefined], // its tools were written into the messages
    ]);
    writeFileSync(join(path, "c-3.json"), "[]");
    await expect(openhandsLlmLog.read(path, { skipBad: false })).rejects.toThrow(
      /c-3\.json: must be a JSON object/,
    );
    expect((await openhandsLlmLog.read(path, { skipBad: true })).rows).toEqual({
      read: 3,
      used: 2,
      skipped: {},
      refused: 1,
    });
  });

  it("says where a latency is missing", async () => {
    const trace = await readWritten(openhandsLlmLog, call(4, undefined, [user], "x"));
    expect(trace.requests.at(0)?.recorded?.end_ms).toBeNull();
    expect(trace.notes.join()).toContain("1 calls tell no latency_sec");
  });

  it("takes no length for told where a response has no usage", async () => {
    const response = { choices: [{ message: { role: "assistant", content: "x" } }] };
    const { provenance } = await readWritten(openhandsLlmLog, call(4, 1, [user], "", { response }));
    expect([provenance.prompt_length, provenance.output_length]).toEqual(["missing", "missing"]);
    expect([provenance.prompt_text, provenance.arrivals]).toEqual(["recorded", "recorded"]);
  });
});
