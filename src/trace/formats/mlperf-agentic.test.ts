/** MLPerf conversations: history rebuilt turn by turn, delays as think time. */
import { describe, expect, it } from "vitest";
import { jsonl, linksOf, readWritten } from "../../../test/trace/written-trace.ts";
import type { Trace } from "../trace.ts";
import { mlperfAgentic } from "./mlperf-agentic.ts";

const read = (rows: readonly unknown[], skipBad = false): Promise<Trace> =>
  readWritten(mlperfAgentic, jsonl(rows), { name: "set.jsonl", skipBad });
const row = (turn: number, role: string, more: object, id: string | number = "c"): object => ({
  conversation_id: id,
  turn,
  role,
  ...more,
});
const call = (id: string): object => ({ id, type: "function", function: { name: "bash", arguments: "{}" } });

describe("mlperf-agentic", () => {
  const rows = [
    row(3, "tool", {
      tool_results: [
        { tool_call_id: "1", content: "x" },
        { tool_call_id: "2", content: { code: 0 } },
      ],
      delay_seconds: 0.25,
    }),
    row(1, "user", {
      content: "go",
      system: "sys",
      tools: [{ type: "function", function: { name: "bash" } }],
      max_tokens: 99,
    }),
    row(1, "user", { content: "other" }, 7),
    row(2, "assistant", { reasoning_content: "hm", tool_calls: [call("1"), call("2")] }),
    row(4, "assistant", { content: "done" }),
    row(5, "user", { content: "and now?", delay_seconds: 2 }),
  ];

  it("issues a request for each run of client rows, the last one without an answer too", async () => {
    const trace = await read(rows);
    expect(linksOf(trace)).toEqual({
      "c/0": [[], null],
      "c/1": [["c/0"], 250],
      "c/2": [["c/1"], 2000],
      "7/0": [[], null],
    });
    expect(trace.requests.find(({ request_id }) => request_id === "c/2")?.prompt).toEqual({
      kind: "messages",
      tools: [{ type: "function", function: { name: "bash" } }],
      messages: [
        { role: "system", content: "sys" },
        { role: "user", content: "go" },
        { role: "assistant", content: null, reasoning_content: "hm", tool_calls: [call("1"), call("2")] },
        { role: "tool", tool_call_id: "1", content: "x" },
        { role: "tool", tool_call_id: "2", content: '{"code":0}' },
        { role: "assistant", content: "done" },
        { role: "user", content: "and now?" },
      ],
    });
    expect(trace.requests.map(({ tool, max_tokens }) => [tool, max_tokens])).toEqual([
      [null, 99],
      [[{ name: "bash+bash", ms: 250 }], null],
      [null, null],
      [null, null],
    ]);
    expect(trace.rows).toEqual({ read: 6, used: 6, skipped: {}, refused: 0 });
  });

  it("refuses what cannot be a conversation", async () => {
    await expect(read([row(1, "robot", {})])).rejects.toThrow(
      /set\.jsonl:1: "role" must be "user", "assistant" or "tool", not "robot"/,
    );
    await expect(read([row(1, "user", { content: "" })])).rejects.toThrow(/set\.jsonl:1: "content"/);
    await expect(read([row(1, "user", { content: "a" }), row(1, "user", { content: "b" })])).rejects.toThrow(
      /set\.jsonl:2: turn 1 of "c" occurs twice/,
    );
    await expect(read([row(1, "assistant", { content: "a" })])).rejects.toThrow(
      /set\.jsonl:1: turn 1 of "c" is an answer without a request/,
    );
    const trace = await read([row(1, "assistant", { content: "a" }), row(2, "user", { content: "b" })], true);
    expect(trace.rows).toEqual({ read: 2, used: 1, skipped: {}, refused: 1 });
    expect(trace.requests).toHaveLength(1);
  });
});
