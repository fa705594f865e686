/** TensorRT-LLM scaffolding traces: branches, joins, tool waits, shared system prompts, reasoning dropped from history. */
import { describe, expect, it } from "vitest";
import { linksOf, readWritten, rowsAddUp } from "../../../test/trace/written-trace.ts";
import { optimalPrefixReuse } from "../prefix.ts";
import { resolveJobs } from "../jobs.ts";
import { trtllmReplay } from "./trtllm-replay.ts";

const system = (conversation: number, tokens: number, branch: number[] = [], id?: string): object => ({
  event_type: "message",
  role: "system",
  conversation_id: conversation,
  branch_path: branch,
  tokens,
  ...(id === undefined ? {} : { system_prompt_id: id }),
});
const user = (conversation: number, tokens: number, branch: number[] = []): object => ({
  event_type: "message",
  role: "user",
  conversation_id: conversation,
  branch_path: branch,
  tokens,
});
const answer = (conversation: number, output: number, branch: number[] = [], reasoning = 0): object => ({
  event_type: "message",
  role: "assistant",
  conversation_id: conversation,
  branch_path: branch,
  completion_tokens: output,
  reasoning_tokens: reasoning,
});
const tool = (ms: number, branch: number[] = []): object => ({
  event_type: "tool_call",
  tool_name: "search",
  duration_ms: ms,
  branch_path: branch,
});
const start = (branches: number, branch: number[] = []): object => ({
  event_type: "parallel_start",
  num_branches: branches,
  branch_path: branch,
});
const end = (branch: number[] = []): object => ({ event_type: "parallel_end", branch_path: branch });

describe("trtllm-replay", () => {
  // plan; two researchers side by side, one with a tool of 300 ms between its turns, the other ending with a tool of
  // 50 ms, and a third that only runs a tool; then the report.
  const events = [
    system(0, 640, [], "planner"),
    user(0, 64),
    answer(0, 100, [], 36),
    tool(20),
    start(3),
    system(1, 320, [0], "researcher"),
    user(1, 64, [0]),
    answer(1, 10, [0]),
    tool(300, [0]),
    answer(1, 20, [0]),
    system(2, 320, [1], "researcher"),
    user(2, 64, [1]),
    answer(2, 30, [1]),
    tool(50, [1]),
    { event_type: "drop_kv_cache", branch_path: [1] },
    tool(9000, [2]),
    end(),
    user(0, 128),
    answer(0, 200),
  ];

  it("forks, waits for tools, and joins", async () => {
    const trace = await readWritten(trtllmReplay, { trace_id: "t", events });
    expect(linksOf(trace)).toEqual({
      "t/0": [[], null],
      "t/1": [["t/0"], 20],
      "t/2": [["t/1"], 300],
      "t/3": [["t/0"], 20],
      "t/4": [["t/2", "t/3"], 50],
    });
    expect(trace.requests.map(({ agent }) => agent)).toEqual([
      null,
      "branch 0",
      "branch 0",
      "branch 1",
      null,
    ]);
    expect(trace.requests.at(3)?.metadata).toMatchObject({ drop_kv_cache_after: true });
    expect(trace.rows).toEqual({
      read: 19,
      used: 12,
      skipped: { drop_kv_cache: 1, parallel_end: 1, parallel_start: 1, tool_call: 4 },
      refused: 0,
    });
  });

  it("builds prompts from segments: history without reasoning, system prompts shared by template", async () => {
    const trace = await readWritten(trtllmReplay, { trace_id: "t", events });
    // 640 + 64; 320 + 64; + 10; 320 + 64; 640 + 64 + (100 − 36) + 128
    expect(trace.requests.map(({ recorded }) => recorded?.prompt_tokens)).toEqual([704, 384, 394, 384, 896]);
    expect(trace.requests.map(({ recorded }) => recorded?.output_tokens)).toEqual([100, 10, 20, 30, 200]);
    const blocks = trace.requests.map(({ prompt }) =>
      prompt.kind === "length" ? (prompt.hash_ids ?? []) : [],
    );
    const shared = (a: number, b: number): number =>
      (blocks[a] ?? []).findIndex((id, at) => id !== blocks[b]?.[at]);
    expect(shared(1, 3)).toBe(5); // 320 tokens of the researchers' system prompt, then their own questions
    expect(blocks[2]?.slice(0, 6)).toEqual(blocks[1]); // a turn extends its own conversation
    expect(blocks[4]?.slice(0, 11)).toEqual(blocks[0]);
    expect(shared(0, 1)).toBe(0);
    // 384 of turn 2, 320 of turn 3, 704 of turn 4
    expect(optimalPrefixReuse(resolveJobs(trace.requests)).overall.cached_tokens).toBe(384 + 320 + 704);
  });

  it("takes children of a parallel_start as side by side, and replaces a segment by its index", async () => {
    const trace = await readWritten(trtllmReplay, {
      trace_id: "t",
      events: [
        user(0, 100),
        answer(0, 10),
        { ...start(0), num_branches: 2, children: [{ ...answer(1, 5), prompt_tokens: 32 }, { ...tool(70) }] },
        { ...user(0, 40), message_index: 0 },
        answer(0, 10),
      ],
    });
    expect(linksOf(trace)).toEqual({ "t/0": [[], null], "t/1": [["t/0"], 0], "t/2": [["t/1"], 0] });
    expect(trace.requests.at(2)?.recorded?.prompt_tokens).toBe(40 + 10);
    expect(rowsAddUp(trace)).toBe(true);
  });

  it("waits for the longest tool where no branch asks the model", async () => {
    const trace = await readWritten(trtllmReplay, {
      events: [user(0, 64), answer(0, 5), start(2), tool(30, [0]), tool(80, [1]), end(), answer(0, 5)],
    });
    expect(linksOf(trace)["trace/1"]).toEqual([["trace/0"], 80]);
  });

  it("refuses events of branches that are not open, by their place", async () => {
    await expect(readWritten(trtllmReplay, { events: [user(0, 5), answer(0, 5, [3])] })).rejects.toThrow(
      /trace\.json: events\[1\]: branch \[3\] is not open/,
    );
    await expect(readWritten(trtllmReplay, { events: [user(0, 5), end()] })).rejects.toThrow(
      /events\[1\]: parallel_end without/,
    );
    await expect(readWritten(trtllmReplay, { events: [answer(0, 5)] })).rejects.toThrow(
      /events\[0\]: a request whose prompt/,
    );
    await expect(readWritten(trtllmReplay, { trace_id: "t" })).rejects.toThrow(
      /"events" must be an array, not missing/,
    );
  });
});
