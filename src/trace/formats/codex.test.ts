/** Codex logs: cached-inclusive counts, repeated reports, messages logged twice, compaction. */
import { describe, expect, it } from "vitest";
import { jsonl, linksOf, readWritten, rowsAddUp } from "../../../test/trace/written-trace.ts";
import type { Trace } from "../trace.ts";
import { codex } from "./codex.ts";

const T0 = Date.UTC(2026, 2, 21, 10);
const row = (at: number, type: string, payload: object): object => ({
  timestamp: new Date(T0 + at).toISOString(),
  type,
  payload,
});
const item = (at: number, payload: object): object => row(at, "response_item", payload);
const message = (at: number, role: string, text: string): object =>
  item(at, {
    type: "message",
    role,
    content: [{ type: role === "assistant" ? "output_text" : "input_text", text }],
  });
const count = (at: number, input: number, cached: number, output: number, total: number): object =>
  row(at, "event_msg", {
    type: "token_count",
    info: {
      last_token_usage: {
        input_tokens: input,
        cached_input_tokens: cached,
        output_tokens: output,
        reasoning_output_tokens: 2,
        total_tokens: input + output,
      },
      total_token_usage: { total_tokens: total },
    },
  });
const read = (rows: readonly unknown[]): Promise<Trace> =>
  readWritten(codex, jsonl(rows), { name: "rollout.jsonl" });

const session = [
  row(0, "session_meta", { id: "sess", base_instructions: { text: "be good" } }),
  message(100, "user", "go"),
  row(100, "event_msg", { type: "user_message", message: "go" }),
  item(1000, { type: "reasoning", summary: [], encrypted_content: "x" }),
  item(2000, { type: "function_call", name: "shell", arguments: "{}", call_id: "c1" }),
  item(2100, { type: "function_call", name: "shell", arguments: "{}", call_id: "c2" }),
  // A fast tool answers before the usage is reported: its result belongs to the next request.
  item(2150, { type: "function_call_output", call_id: "c1", output: "one" }),
  count(2200, 100, 60, 30, 130),
  count(2210, 100, 60, 30, 130),
  item(5100, { type: "function_call_output", call_id: "c2", output: "two" }),
  row(7000, "event_msg", { type: "agent_message", message: "done" }),
  message(7000, "assistant", "done"),
  count(7010, 140, 90, 5, 275),
];

describe("codex", () => {
  it("counts each report once: input with its cached tokens, output with reasoning", async () => {
    const trace = await read(session);
    expect(trace.requests.map(({ recorded }) => recorded)).toMatchObject([
      { sent_ms: 0, end_ms: 2000, prompt_tokens: 100, cached_tokens: 60, output_tokens: 30 },
      { sent_ms: 5000, end_ms: 6900, prompt_tokens: 140, cached_tokens: 90, output_tokens: 5 },
    ]);
    expect(linksOf(trace)).toEqual({ "sess/0": [[], null], "sess/1": [["sess/0"], 3000] });
    expect(trace.requests[1]?.tool).toEqual([
      { name: "shell", ms: 150 },
      { name: "shell", ms: 3000 },
    ]);
    expect(trace.rows.skipped).toEqual({
      "event agent_message": 1,
      "event user_message": 1,
      session_meta: 1,
      "token_count repeated": 1,
    });
    expect(rowsAddUp(trace)).toBe(true);
  });

  it("rebuilds the prompt from items alone, calls of one answer in one message", async () => {
    const trace = await read(session);
    expect(trace.requests[1]?.prompt).toEqual({
      kind: "messages",
      tools: null,
      messages: [
        { role: "system", content: "be good" },
        { role: "user", content: "go" },
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "c1", type: "function", function: { name: "shell", arguments: "{}" } },
            { id: "c2", type: "function", function: { name: "shell", arguments: "{}" } },
          ],
        },
        { role: "tool", tool_call_id: "c1", content: "one" },
        { role: "tool", tool_call_id: "c2", content: "two" },
      ],
    });
  });

  it("takes the growth of the running total where the last request's own count is not told", async () => {
    const total = (at: number, input: number, cached: number, output: number): object =>
      row(at, "event_msg", {
        type: "token_count",
        info: {
          total_token_usage: { input_tokens: input, cached_input_tokens: cached, output_tokens: output },
        },
      });
    const trace = await read([
      total(0, 1000, 100, 200),
      total(60, 1600, 300, 450),
      total(90, 1600, 300, 450),
      total(99, 50, 0, 5),
    ]);
    expect(
      trace.requests.map(({ recorded }) => [
        recorded?.prompt_tokens,
        recorded?.cached_tokens,
        recorded?.output_tokens,
      ]),
    ).toEqual([
      [1000, 100, 200],
      [600, 200, 250],
      [50, 0, 5], // a total that fell began anew
    ]);
    expect(trace.rows.skipped).toEqual({ "token_count repeated": 1 });
  });

  it("goes on from the summary after a compaction", async () => {
    const trace = await read([
      ...session,
      row(8000, "compacted", { message: "it was done" }),
      message(9000, "user", "again"),
      message(9500, "assistant", "ok"),
      count(9500, 20, 0, 3, 298),
      message(9900, "user", "never answered"),
    ]);
    expect(trace.requests[2]?.prompt).toMatchObject({
      messages: [
        { role: "system", content: "be good" },
        { role: "user", content: "it was done" },
        { role: "user", content: "again" },
      ],
    });
    expect(trace.rows.skipped["item after the last request"]).toBe(1);
  });

  it("takes lengths where only counts are logged, and refuses counts that contradict each other", async () => {
    const trace = await read([count(0, 1000, 250, 125, 1), count(60_000, 2500, 500, 300, 2)]);
    expect(trace.requests.map(({ prompt, think_ms }) => [prompt.kind, think_ms])).toEqual([
      ["length", null],
      ["length", null],
    ]);
    await expect(read([count(0, 10, 20, 5, 1)])).rejects.toThrow(
      /rollout\.jsonl:1: "cached_input_tokens" 20 exceed "input_tokens" 10/,
    );
    await expect(read([{ type: "event_msg" }])).rejects.toThrow(/rollout\.jsonl:1: "payload" is missing/);
  });
});
