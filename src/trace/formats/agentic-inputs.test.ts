/** AIPerf, Dynamo, ShareGPT, OpenAI batch, LiteLLM: prompts, parents and waits by hand. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { inspectTrace } from "../inspect.ts";
import { resolveJobs } from "../jobs.ts";
import { readTrace, type TraceOptions } from "../reader.ts";
import type { Trace } from "../trace.ts";
import { recordedPromptTokens } from "../trace-request.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-formats-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
function read(rows: unknown, options: TraceOptions = {}): Promise<Trace> {
  const path = join(folder, `t${files++}`);
  writeFileSync(
    path,
    typeof rows === "string" ? rows : (rows as unknown[]).map((row) => JSON.stringify(row)).join("\n"),
  );
  return readTrace(path, options);
}
/** Request → parents, think time; by job. */
function graph(trace: Trace): unknown {
  return resolveJobs(trace.requests).map(({ job_id, turns }) => [
    job_id,
    Object.fromEntries(
      turns.map(({ request, parents, think_ms }) => [
        request.request_id,
        [parents.map((at) => turns[at]?.request.request_id).join(), think_ms],
      ]),
    ),
  ]);
}

describe("aiperf", () => {
  it("later rows are deltas: the prompt is history + planned answers + delta, sharing all of the history", async () => {
    const trace = await read([
      { session_id: "s", input_length: 600, output_length: 40, hash_ids: [1, 2], timestamp: 10 },
      { session_id: "s", input_length: 100, output_length: 5, hash_ids: [3], delay: 7 },
      { session_id: "s", input_length: 1, output_length: 5, delay: 8 },
      { session_id: "t", input_length: 600, output_length: 40, hash_ids: [1, 9], timestamp: 20 },
    ]);
    expect(trace.format).toBe("aiperf");
    expect(trace.requests.map(recordedPromptTokens)).toEqual([600, 740, 746, 600]);
    expect(graph(trace)).toEqual([
      ["s", { r1: ["", null], r2: ["r1", 7], r3: ["r2", 8] }],
      ["t", { r4: ["", null] }],
    ]);
    const { prefix } = inspectTrace(trace);
    // Blocks of 64: 9 of the first prompt's 600, 11 of 740, and the first 512 tokens of t's.
    expect(prefix.overall.cached_tokens).toBe(576 + 704 + 512);
  });

  it("refuses a turn whose timestamp lies before that of an earlier turn of its session", async () => {
    const row = { session_id: "s", input_length: 6, output_length: 4 };
    await expect(read([{ ...row, timestamp: 20 }, row, { ...row, timestamp: 10 }])).rejects.toThrow(
      /:3: timestamp 10 is before that of an earlier turn of session "s", 20/,
    );
  });

  it("messages: history replaces, delta appends; tools and extra are kept; text rows; multi_turn", async () => {
    const trace = await read([
      { session_id: "s", messages: [{ role: "user", content: "a" }], output_length: 1, timestamp: 0 },
      {
        session_id: "s",
        messages: [
          { role: "user", content: "a" },
          { role: "assistant", content: "b" },
          { role: "user", content: "c" },
        ],
        timestamp: 2,
      },
      {
        session_id: "d",
        message_mode: "delta",
        messages: [{ role: "user", content: "a" }],
        timestamp: 0,
        tools: [{ type: "function" }],
        extra: { top_k: 4 },
      },
      { session_id: "d", message_mode: "delta", messages: [{ role: "user", content: "z" }], delay: 5 },
      { text_input: "alone", output_length: 3, timestamp: 1 },
      {
        session_id: "m",
        turns: [
          { text: "one", output_length: 2 },
          { text: "two", delay: 9 },
        ],
      },
    ]);
    const [history, whole, first, second, alone, one, two] = trace.requests;
    expect(history?.prompt).toMatchObject({ kind: "messages", messages: [{ content: "a" }] });
    expect(whole?.prompt).toHaveProperty("messages.length", 3);
    expect(first).toMatchObject({ params: { top_k: 4 }, prompt: { tools: [{ type: "function" }] } });
    expect(second?.prompt).toMatchObject({ messages: [{ content: "a" }, { content: "z" }] });
    expect([second?.think_ms, two?.think_ms]).toEqual([5, 9]);
    expect(alone?.prompt).toEqual({ kind: "text", text: "alone" });
    expect(one?.prompt).toEqual({ kind: "text", text: "one" });
    expect(two?.prompt).toMatchObject({
      messages: [
        { role: "user", content: "one" },
        { role: "user", content: "two" },
      ],
    });
    expect(trace.notes.join()).toContain("2 turns go on a history whose answers are not in the file");
    const single = await read([
      { text: "q", output_length: 2 },
      { texts: ["r", { contents: ["s", "t"] }], image: "x.png" },
    ]);
    expect(single.format).toBe("aiperf");
    expect(single.requests.at(1)?.prompt).toEqual({ kind: "text", text: "r\ns\nt" });
    expect(single.notes).toEqual(["1 turns had images, sound or video; only their text is replayed"]);
    const orchestrated = await read([
      { session_id: "o", orchestrator: true, turns: [], spawns: ["k"] },
      { session_id: "k", turns: [{ messages: [{ role: "user", content: "q" }] }] },
    ]);
    expect(orchestrated.rows).toEqual({ read: 2, used: 1, skipped: { orchestrator: 1 }, refused: 0 });
  });

  it("dag_jsonl: forks carry the history, spawns start fresh and are joined, background ones by nobody", async () => {
    const say = (content: string): unknown[] => [{ role: "user", content }];
    const rows = [
      {
        session_id: "root",
        pre_session_spawns: ["bg"],
        turns: [
          { messages: say("1"), spawns: ["kid", { children: ["slow"], join_at: 2 }], max_tokens: 9 },
          { messages: say("2"), delay: 50 },
          { messages: say("3"), forks: ["fork"] },
        ],
      },
      { session_id: "kid", turns: [{ messages: say("k1") }, { messages: say("k2"), delay: 5 }] },
      { session_id: "slow", turns: [{ messages: say("s") }] },
      { session_id: "fork", turns: [{ messages: say("f") }] },
      { session_id: "bg", turns: [{ messages: say("b") }] },
    ];
    const trace = await read(rows);
    expect(graph(trace)).toEqual([
      [
        "root",
        {
          "root/bg#0": ["", 0],
          "root#0": ["", 0],
          "root/kid#0": ["root#0", 0],
          "root/kid#1": ["root/kid#0", 5],
          "root/slow#0": ["root#0", 0],
          "root#1": ["root#0,root/kid#1", 50],
          "root#2": ["root/slow#0,root#1", 0],
          "root/fork#0": ["root#2", 0],
        },
      ],
    ]);
    const prompts = new Map(trace.requests.map(({ request_id, prompt }) => [request_id, prompt]));
    expect(prompts.get("root/fork#0")).toMatchObject({
      messages: [{ content: "1" }, { content: "2" }, { content: "3" }, { content: "f" }],
    });
    expect(prompts.get("root/kid#1")).toMatchObject({ messages: [{ content: "k1" }, { content: "k2" }] });
    expect(trace.requests.find(({ request_id }) => request_id === "root#0")?.max_tokens).toBe(9);
    await expect(read(rows.slice(0, 4))).rejects.toThrow(
      /:1: it starts session "bg", which is not in the file/,
    );
    await expect(read([{ session_id: "x", turns: [{ messages: say("1"), forks: ["x"] }] }])).rejects.toThrow(
      /:1: a cycle/,
    );
  });
});

describe("dynamo", () => {
  it("rows: wait_for with delay + tool time; sessions that wait for each other are one job; u64 hashes; block size found", async () => {
    const text = [
      '{"request_id": "p1", "session_id": "root", "input_length": 130, "output_length": 5, "hash_ids": [14879255164371896291, 2, 3], "timestamp": 0, "wait_for": [], "branches": ["c1"], "prefix_reset": true}',
      '{"request_id": "c1", "session_id": "child", "input_length": 64, "output_length": 5, "hash_ids": [9], "timestamp": 50, "delay": 10, "wait_for": ["p1"]}',
      '{"request_id": "p2", "session_id": "root", "input_length": 190, "output_length": 5, "hash_ids": [14879255164371896291, 2, 4], "timestamp": 99, "delay": 20, "tool_wait_ms": 30, "wait_for": ["p1", "c1"]}',
      '{"request_id": "q", "session_id": "other", "input_length": 64, "output_length": 5, "hash_ids": [14879255164371896292], "timestamp": 3}',
    ].join("\n");
    const trace = await read(text);
    expect(graph(trace)).toEqual([
      ["root", { p1: ["", null], c1: ["p1", 10], p2: ["p1,c1", 50] }],
      ["other", { q: ["", null] }],
    ]);
    expect(trace.notes).toEqual(["prefix blocks of 64 tokens (found from the lengths)"]);
    expect(inspectTrace(trace).prefix.overall.cached_tokens).toBe(128);
    await expect(read(text.replace('["p1"]', '["zz"]'))).rejects.toThrow(
      /:2: "wait_for" names "zz", which is not in the file/,
    );
    // The row that waited for the refused one goes too.
    const rest = await read(text.replace('["p1"]', '["zz"]'), { skipBad: true });
    expect(rest.rows).toEqual({ read: 4, used: 2, skipped: {}, refused: 2 });
  });

  it("events: sub-agents fork and join by time, tools lie between, half-known times stay unknown", async () => {
    const context = (trajectory: string, parent?: string): unknown => ({
      session_id: "s",
      trajectory_id: trajectory,
      ...(parent === undefined ? {} : { parent_trajectory_id: parent }),
    });
    const call = (id: string, trajectory: string, start: number, ms: number, parent?: string): unknown => ({
      timestamp: start + ms,
      event: {
        schema: "dynamo.agent.trace.v1",
        event_type: "request_end",
        event_time_unix_ms: 1_777_000_000_000 + start + ms,
        agent_context: context(trajectory, parent),
        request: {
          request_id: id,
          model: "m",
          output_tokens: 7,
          request_received_ms: 1_777_000_000_000 + start,
          total_time_ms: ms,
          replay: { trace_block_size: 64, input_length: 128, input_sequence_hashes: [1, 2] },
        },
      },
    });
    const tool = {
      timestamp: 0,
      event: {
        schema: "dynamo.agent.trace.v1",
        event_type: "tool_end",
        event_time_unix_ms: 1_777_000_000_480,
        agent_context: context("main"),
        tool: {
          tool_class: "web",
          duration_ms: 70.5,
          started_at_unix_ms: 1_777_000_000_409,
          ended_at_unix_ms: 1_777_000_000_480,
        },
      },
    };
    const trace = await read([
      call("m1", "main", 0, 100),
      call("k1", "kid", 150, 100, "main"),
      call("k2", "kid", 260, 90, "main"),
      call("m2", "main", 500, 100),
      tool,
    ]);
    expect(graph(trace)).toEqual([
      ["s", { m1: ["", null], k1: ["m1", 50], k2: ["k1", 10], m2: ["m1,k2", 150] }],
    ]);
    expect(trace.requests.find(({ request_id }) => request_id === "m2")?.tool).toEqual([
      { name: "web", ms: 70.5 },
    ]);
    expect(trace.rows.skipped).toEqual({ "event tool_end": 1 });
  });
});

describe("sharegpt, openai-batch, litellm", () => {
  it("sharegpt: an answer is a turn, so is a last question; a leading answer is none; ids may repeat", async () => {
    const say = (from: string, value: string): unknown => ({ from, value });
    const document = [
      {
        id: "a",
        conversations: [say("gpt", "hello"), say("human", "q1"), say("gpt", "a1"), say("human", "q2")],
      },
      { id: "a", conversations: [say("human", "q"), say("gpt", "x")] },
      { id: "b", conversations: [say("gpt", "only")] },
    ];
    const trace = await read(JSON.stringify(document, null, 1));
    expect(trace.format).toBe("sharegpt");
    expect(
      trace.requests.map(({ job_id, prompt, response_text }) => [
        job_id,
        prompt.kind === "messages" ? prompt.messages.length : 0,
        response_text,
      ]),
    ).toEqual([
      ["a", 1, "a1"],
      ["a", 3, null],
      ["a@2", 1, "x"],
    ]);
    expect(trace.rows).toEqual({
      read: 3,
      used: 2,
      skipped: { "conversation without a question": 1 },
      refused: 0,
    });
    const multi = await read([
      {
        id: 1,
        messages: [
          { role: "user", content: "q" },
          { role: "assistant", content: "a" },
        ],
      },
    ]);
    expect(multi.requests).toHaveLength(1);
    await expect(read(JSON.stringify([{ id: "a", conversations: [say("alien", "?")] }]))).rejects.toThrow(
      '"from" is "alien"',
    );
  });

  it("openai-batch: the body's parameters pass, its model is noted, its streaming is not", async () => {
    const trace = await read([
      {
        custom_id: "1",
        method: "POST",
        url: "/v1/chat/completions",
        body: {
          model: "m",
          messages: [{ role: "user", content: "q" }],
          max_tokens: 5,
          temperature: 0.5,
          top_p: 0.9,
          seed: 3,
          stream: true,
        },
      },
      { custom_id: "2", url: "/v1/embeddings", body: { model: "e", input: "x" } },
    ]);
    expect(trace.requests.at(0)).toMatchObject({
      max_tokens: 5,
      temperature: 0.5,
      params: { top_p: 0.9, seed: 3 },
      metadata: { model: "m" },
    });
    expect(trace.rows.skipped).toEqual({ "neither chat nor completion": 1 });
  });

  it("litellm: a trace id is a job, overlapping calls run side by side, gaps are think time", async () => {
    const row = (id: string, start: string, end: string, content: string): unknown => ({
      id,
      trace_id: "t",
      model: "m",
      startTime: start,
      endTime: end,
      completionStartTime: start,
      prompt_tokens: 10,
      completion_tokens: 4,
      messages: [{ role: "user", content }],
    });
    const trace = await read([
      row("a", "2025-01-01T00:00:00.000Z", "2025-01-01T00:00:01.000Z", "alpha"),
      row("b", "2025-01-01T00:00:01.500Z", "2025-01-01T00:00:03.000Z", "beta"),
      row("c", "2025-01-01T00:00:01.600Z", "2025-01-01T00:00:02.000Z", "gamma"),
      row("d", "2025-01-01T00:00:03.250Z", "2025-01-01T00:00:04.000Z", "delta"),
    ]);
    expect(graph(trace)).toEqual([["t", { a: ["", null], b: ["a", 500], c: ["a", 600], d: ["b,c", 250] }]]);
    expect(inspectTrace(trace)).toMatchObject({
      format: "litellm",
      jobs: 1,
      turns: 4,
      prompt_tokens: 40,
      output_tokens: 16,
      span_ms: 3250,
    });
  });
});
