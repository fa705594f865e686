/**
 * Damaged rows of every row format: a reader either refuses by file and line or keeps its account, and never crashes;
 * what it keeps can be resolved, inspected, written and read again.
 */
import * as fc from "fast-check";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { UserError } from "../../src/core/failure.ts";
import { inspectTrace } from "../../src/trace/inspect.ts";
import { readTrace } from "../../src/trace/reader.ts";
import type { Trace } from "../../src/trace/trace.ts";
import { traceLines, writeLines } from "../../src/trace/writer.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-damaged-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

type Row = Record<string, unknown>;
const say = (content: string): Row => ({ role: "user", content });
const SAMPLES: Readonly<Record<string, readonly Row[]>> = {
  reprise: [
    {
      request_id: "a",
      job_id: "j",
      turn: 1,
      arrival_ms: 0,
      prompt_tokens: 40,
      hash_ids: [1, 2],
      block_tokens: 20,
      max_tokens: 5,
      recorded: { end_ms: 9, output_tokens: 4 },
      budget_ms: 50,
    },
    {
      request_id: "b",
      job_id: "j",
      turn: 2,
      arrival_ms: 20,
      messages: [say("q")],
      tools: [{}],
      max_tokens: 5,
      tool: [{ name: "t", ms: 1 }],
      params: {},
      metadata: {},
    },
    {
      request_id: "c",
      job_id: "j",
      after: ["a", "b"],
      think_ms: 3,
      prompt_ids: [1, 2],
      max_tokens: null,
      temperature: 0,
      agent: "x",
    },
  ],
  "seed-a": [1, 2, 3].map((timestamp) => ({
    timestamp,
    queries: [{ prompt_length: 3, response_length: 4 }],
  })),
  mooncake: [0, 1, 2].map((timestamp) => ({
    timestamp,
    input_length: 700,
    output_length: 3,
    hash_ids: [1, timestamp],
  })),
  bailian: [1, 2, 3].map((id) => ({
    chat_id: id,
    parent_chat_id: id - 2,
    timestamp: id,
    input_length: 20,
    output_length: 2,
    type: "text",
    turn: 1,
    hash_ids: [1, 2],
  })),
  llmservingsim: [
    { input_toks: 2, output_toks: 3, arrival_time_ns: 5e6, input_tok_ids: [1, 2] },
    {
      session_id: "s",
      arrival_time_ns: 6e6,
      sub_requests: [
        { input_toks: 2, output_toks: 3, tool_duration_ns: 4 },
        { input_toks: 2, output_toks: 3 },
      ],
    },
  ],
  lmcache: [3, 1, 2].map((at) => ({
    timestamp: 1760587779519310 + at,
    input: "q",
    output: "a",
    session_id: "s",
  })),
  aiperf: [
    { session_id: "s", input_length: 600, output_length: 4, hash_ids: [1, 2], timestamp: 0 },
    { session_id: "s", input_length: 60, output_length: 4, hash_ids: [3], delay: 5 },
    { session_id: "m", messages: [say("q")], message_mode: "delta", timestamp: 1, extra: {}, tools: [{}] },
    {
      session_id: "d",
      turns: [
        { messages: [say("q")], spawns: ["e", { children: ["f"], join_at: 1 }], delay: 3 },
        { messages: [say("r")], forks: ["g"] },
      ],
    },
    ...["e", "f", "g"].map((session_id) => ({
      session_id,
      turns: [{ messages: [say("k")], max_tokens: 5 }],
    })),
    { session_id: "t", turns: [{ text: "one" }, { text: "two", delay: 2, output_length: 5 }] },
  ],
  dynamo: [
    {
      request_id: "p",
      session_id: "r",
      input_length: 130,
      output_length: 5,
      hash_ids: [1, 2, 3],
      timestamp: 0,
      wait_for: [],
      prefix_reset: true,
    },
    {
      request_id: "c",
      session_id: "k",
      input_length: 64,
      output_length: 5,
      hash_ids: [9],
      timestamp: 50,
      delay: 10,
      wait_for: ["p"],
      tool_events: [{ tool_class: "t", duration_ms: 4 }],
    },
    {
      request_id: "q",
      session_id: "r",
      input_length: 130,
      output_length: 5,
      hash_ids: [1, 2, 3],
      timestamp: 99,
      delay: 2,
      tool_wait_ms: 3,
      wait_for: ["p", "c"],
    },
    {
      timestamp: 3,
      event: {
        schema: "v1",
        event_type: "request_end",
        event_time_unix_ms: 99,
        agent_context: { session_id: "s", trajectory_id: "t", parent_trajectory_id: "u" },
        request: {
          request_id: "e",
          output_tokens: 3,
          request_received_ms: 5,
          total_time_ms: 7,
          replay: { trace_block_size: 64, input_length: 128, input_sequence_hashes: [1, 2] },
        },
      },
    },
    {
      timestamp: 3,
      event: {
        schema: "v1",
        event_type: "tool_end",
        event_time_unix_ms: 99,
        tool: { tool_class: "w", duration_ms: 4 },
      },
    },
  ],
  sharegpt: [1, 2].map((id) => ({
    id,
    conversations: [
      { from: "human", value: "q" },
      { from: "gpt", value: "a" },
    ],
  })),
  "openai-batch": [1, 2].map((id) => ({
    custom_id: String(id),
    url: "/v1/chat/completions",
    body: { model: "m", messages: [say("q")], max_tokens: 5, temperature: 1 },
  })),
  litellm: [1, 2, 3].map((id) => ({
    id: String(id),
    trace_id: "t",
    startTime: `2025-01-01T00:00:0${id}Z`,
    endTime: `2025-01-01T00:00:0${id}.5Z`,
    prompt_tokens: 4,
    completion_tokens: 3,
    messages: [say(`question ${id}`)],
    model: "m",
    model_parameters: { max_tokens: 4 },
  })),
};
const STRANGE: readonly unknown[] = [
  null,
  "",
  "x",
  0,
  -1,
  1.5,
  1e308,
  true,
  [],
  {},
  [null],
  [-1],
  ["zz"],
  [[]],
  { a: 1 },
];

/** Puts `value` (or nothing) at one place of a row, at any depth. */
function damage(row: Row, pick: number, value: unknown, drop: boolean): Row {
  const copy = structuredClone(row);
  const places: { holder: Record<string, unknown>; key: string }[] = [];
  const visit = (holder: unknown): void => {
    if (typeof holder !== "object" || holder === null) return;
    for (const key of Object.keys(holder)) {
      places.push({ holder: holder as Record<string, unknown>, key });
      visit((holder as Record<string, unknown>)[key]);
    }
  };
  visit(copy);
  const place = places[pick % places.length];
  if (place === undefined) return copy;
  if (drop) delete place.holder[place.key];
  else place.holder[place.key] = value;
  return copy;
}

function balanced({ rows }: Trace): boolean {
  return rows.read === rows.used + Object.values(rows.skipped).reduce((a, b) => a + b, 0) + rows.refused;
}

describe.each(Object.entries(SAMPLES))("%s", (format, rows) => {
  it("refuses or keeps, and accounts for, any damage", async () => {
    const path = join(folder, `t${files++}`);
    const damages = fc.array(
      fc.tuple(
        fc.nat({ max: rows.length - 1 }),
        fc.nat({ max: 60 }),
        fc.constantFrom(...STRANGE),
        fc.boolean(),
      ),
      { minLength: 1, maxLength: 3 },
    );
    await fc.assert(
      fc.asyncProperty(damages, async (list) => {
        const broken = rows.map((row) => row);
        for (const [at, pick, value, drop] of list) broken[at] = damage(broken[at] as Row, pick, value, drop);
        writeFileSync(path, broken.map((row) => JSON.stringify(row)).join("\n"));
        for (const skipBad of [false, true]) {
          try {
            const trace = await readTrace(path, { format, skipBad });
            expect(balanced(trace)).toBe(true);
            if (skipBad) expect(trace.rows.read).toBe(rows.length);
            const found = inspectTrace(trace);
            const copy = join(folder, `copy${files++}`);
            await writeLines(copy, traceLines(trace));
            const back = inspectTrace(await readTrace(copy));
            expect([back.jobs, back.turns, back.prompt_tokens, back.output_tokens]).toEqual([
              found.jobs,
              found.turns,
              found.prompt_tokens,
              found.output_tokens,
            ]);
          } catch (error) {
            if (!(error instanceof UserError)) throw error;
            expect(error.message).not.toContain("\n");
            if (!skipBad && !/no requests in it|request ".*" of job/.test(error.message))
              expect(error.message).toMatch(/:\d+: |: \[\d+\]/);
          }
        }
      }),
      { numRuns: 40 },
    );
  });
});
