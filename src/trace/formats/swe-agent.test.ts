/** SWE-agent trajectories and tau-bench results: conversations without times. */
import { describe, expect, it } from "vitest";
import { linksOf, readWritten, rowsAddUp } from "../../../test/trace/written-trace.ts";
import { scalarText } from "../openai-messages.ts";
import type { Trace } from "../trace.ts";
import { sweAgent } from "./swe-agent.ts";
import { tauBench } from "./tau-bench.ts";

const said = (trace: Trace, at: number): unknown => {
  const prompt = trace.requests.at(at)?.prompt;
  return prompt?.kind === "messages"
    ? prompt.messages.map(({ role, content }) => `${scalarText(role)}: ${scalarText(content)}`)
    : null;
};

describe("swe-agent", () => {
  const history = [
    { role: "system", content: "sys" },
    { role: "user", content: "a demonstration", is_demo: true },
    { role: "assistant", content: "shown, not made", is_demo: true },
    { role: "user", content: [{ type: "text", text: "the task" }] },
    {
      role: "assistant",
      content: "look",
      tool_calls: [{ id: "c", type: "function", function: { name: "bash", arguments: "{}" } }],
    },
    { role: "tool", content: "files", tool_call_ids: ["c"] },
    { role: "assistant", content: "submit" },
  ];
  const trajectory = [
    { action: "ls -F", observation: "files", response: "look", execution_time: 0.25 },
    { action: "submit", observation: "", response: "submit", execution_time: 1 },
  ];

  it("takes prompts from the history, demonstrations as shown, and commands as think time", async () => {
    const replay_config = JSON.stringify({
      agent: { model: { name: "m", temperature: 0.5, top_p: 0.9 } },
      problem_statement: { id: "bug-1" },
    });
    const trace = await readWritten(sweAgent, { trajectory, history, info: {}, replay_config });
    expect(linksOf(trace)).toEqual({ "bug-1/0": [[], null], "bug-1/1": [["bug-1/0"], 250] });
    expect(said(trace, 0)).toEqual([
      "system: sys",
      "user: a demonstration",
      "assistant: shown, not made",
      "user: the task",
    ]);
    expect(said(trace, 1)).toEqual([...(said(trace, 0) as string[]), "assistant: look", "tool: files"]);
    expect(trace.requests.at(1)).toMatchObject({
      tool: [{ name: "ls", ms: 250 }],
      temperature: 0.5,
      params: { top_p: 0.9 },
      response_text: "submit",
    });
  });

  it("prefers the exact query of a step, and rebuilds where the history does not fit", async () => {
    const query = [{ role: "user", content: "exactly this" }];
    const exact = await readWritten(sweAgent, { trajectory: [{ ...trajectory[0], query }], history });
    expect(said(exact, 0)).toEqual(["user: exactly this"]);
    const rebuilt = await readWritten(
      sweAgent,
      { trajectory: [...trajectory, ...trajectory], history },
      { name: "x.traj" },
    );
    expect(said(rebuilt, 2)).toEqual([
      "system: sys",
      "user: a demonstration",
      "assistant: shown, not made",
      "user: the task",
      "assistant: look",
      "tool: files",
      "assistant: submit",
      "user: ",
    ]);
    expect(rebuilt.notes[0]).toContain("does not hold 2 of 4 steps");
    expect(rebuilt.requests.at(0)?.job_id).toBe("x");
  });

  it("refuses by place", async () => {
    await expect(
      readWritten(sweAgent, { trajectory: [{ ...trajectory[0], execution_time: "1s" }], history }),
    ).rejects.toThrow(/trajectory\[0\]: "execution_time"/);
    await expect(readWritten(sweAgent, { trajectory, history: [] })).rejects.toThrow(
      /trajectory\[0\]: no messages before this step/,
    );
  });
});

describe("tau-bench", () => {
  const traj = [
    { role: "system", content: "policy" },
    { role: "user", content: "hi" },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "c", name: "f", content: "r" },
    { role: "assistant", content: "one" },
    { role: "assistant", content: "two" },
  ];

  it("makes each assistant message a turn of its trajectory", async () => {
    const trace = await readWritten(tauBench, [
      { task_id: 0, trial: 0, traj },
      { task_id: 0, trial: 1, traj: traj.slice(0, 3) },
      { task_id: 0, trial: 1, traj: traj.slice(0, 3) },
      { task_id: 1, traj: [] },
    ]);
    expect(trace.requests.map(({ request_id }) => request_id)).toEqual([
      "task-0-trial-0/0",
      "task-0-trial-0/1",
      "task-0-trial-0/2",
      "task-0-trial-1/0",
      "task-0-trial-1#2/0",
    ]);
    expect(said(trace, 2)).toEqual([
      "system: policy",
      "user: hi",
      "assistant: ",
      "tool: r",
      "assistant: one",
    ]);
    expect(trace.rows).toEqual({
      read: 4,
      used: 3,
      skipped: { "trajectory without an answer": 1 },
      refused: 0,
    });
  });

  it("refuses by place", async () => {
    const rows = [{ task_id: 0, traj: [{ content: "x" }] }, { traj: [] }, 3];
    const trace = await readWritten(tauBench, rows, { skipBad: true });
    expect(trace.faults.map(({ reason }) => reason)).toEqual([
      "[0]: traj[0] is no message with a role",
      '[1]: "task_id" is missing (an id (a string or an integer))',
      "[2]: must be a JSON object, not a number",
    ]);
    expect(rowsAddUp(trace)).toBe(true);
  });
});
