/** ATIF trajectories: steps as turns, tool results, invocation times, embedded sub-agents. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { linksOf, readWritten, rowsAddUp } from "../../../test/trace/written-trace.ts";
import type { Trace } from "../trace.ts";
import { atif } from "./atif.ts";

const T0 = Date.UTC(2026, 0, 2) / 1000;
const invocation = (from: number, to: number): object => ({
  extra: { invocation: { start_timestamp: T0 + from, end_timestamp: T0 + to } },
});
const document = (steps: readonly unknown[], more: object = {}): object => ({
  schema_version: "ATIF-v1.7",
  session_id: "s",
  agent: { name: "a", version: "1", tool_definitions: [{ type: "function", function: { name: "add" } }] },
  steps,
  ...more,
});
const user = (at: number, message: string): object => ({
  step_id: 1,
  source: "user",
  timestamp: new Date((T0 + at) * 1000).toISOString(),
  message,
});

describe("atif", () => {
  it("takes invocation times where told, and tools between the turns", async () => {
    const trace = await readWritten(
      atif,
      document([
        user(0, "3 + 4?"),
        {
          step_id: 2,
          source: "agent",
          model_name: "m",
          message: "",
          tool_calls: [
            { tool_call_id: "c", function_name: "add", arguments: { a: 3, b: 4 }, ...invocation(3, 4) },
          ],
          observation: { results: [{ source_call_id: "c", content: "7" }] },
          metrics: { prompt_tokens: 20, completion_tokens: 5, cached_tokens: 4 },
          ...invocation(1, 2),
        },
        { step_id: 3, source: "agent", message: "7", ...invocation(5, 6) },
      ]),
    );
    expect(linksOf(trace)).toEqual({ "s/0": [[], null], "s/1": [["s/0"], 3000] });
    expect(trace.requests).toMatchObject([
      { arrival_ms: 0, recorded: { end_ms: 1000, prompt_tokens: 20, output_tokens: 5, cached_tokens: 4 } },
      {
        arrival_ms: 4000,
        tool: [{ name: "add", ms: 1000 }],
        prompt: {
          tools: [{ type: "function", function: { name: "add" } }],
          messages: [
            { role: "user", content: "3 + 4?" },
            {
              role: "assistant",
              tool_calls: [{ id: "c", function: { name: "add", arguments: '{"a":3,"b":4}' } }],
            },
            { role: "tool", tool_call_id: "c", content: "7" },
          ],
        },
      },
    ]);
  });

  it("takes a bare timestamp for the answer's end, and knows no think time after tools without times", async () => {
    const stamp = (at: number): string => new Date((T0 + at) * 1000).toISOString();
    const trace = await readWritten(
      atif,
      document([
        user(0, "q"),
        { step_id: 2, source: "agent", timestamp: stamp(4), message: "a" },
        user(10, "and?"),
        {
          step_id: 4,
          source: "agent",
          timestamp: stamp(13),
          message: "b",
          tool_calls: [{ tool_call_id: "c", function_name: "f", arguments: {} }],
          observation: { results: [{ source_call_id: "c", content: "r" }] },
        },
        { step_id: 5, source: "agent", timestamp: stamp(20), message: "c" },
      ]),
    );
    expect(
      trace.requests.map(({ arrival_ms, think_ms, recorded }) => [arrival_ms, think_ms, recorded?.end_ms]),
    ).toEqual([
      [0, null, 4000],
      [10_000, 6000, 13_000],
      [null, null, 20_000],
    ]);
    expect(linksOf(trace)["s/2"]).toEqual([["s/1"], null]);
  });

  it("counts token ids where no counts are told", async () => {
    const metrics = { prompt_token_ids: [5, 6, 7], completion_token_ids: [8, 9] };
    const trace = await readWritten(
      atif,
      document([
        user(0, "q"),
        { step_id: 2, source: "agent", message: "a", metrics },
        { step_id: 3, source: "agent", message: "b", metrics: { ...metrics, prompt_tokens: 4 } },
      ]),
    );
    expect(trace.requests.map(({ recorded }) => [recorded?.prompt_tokens, recorded?.output_tokens])).toEqual([
      [3, 2],
      [4, 2],
    ]);
  });

  it("forks and joins embedded sub-agents, leaves out steps that no model made", async () => {
    const sub = {
      ...document([user(3, "sub q"), { step_id: 2, source: "agent", message: "sub a", ...invocation(3, 5) }]),
      session_id: "sub",
      trajectory_id: "sub",
      agent: { name: "helper" },
    };
    const trace = await readWritten(
      atif,
      document(
        [
          user(0, "q"),
          { step_id: 1, source: "agent", is_copied_context: true, message: "from before" },
          {
            step_id: 2,
            source: "agent",
            message: "delegate",
            tool_calls: [{ tool_call_id: "c", function_name: "spawn", arguments: {} }],
            observation: {
              results: [
                {
                  source_call_id: "c",
                  content: "sub a",
                  subagent_trajectory_ref: [{ trajectory_id: "sub" }, { trajectory_id: "elsewhere" }],
                },
              ],
            },
            ...invocation(1, 2),
          },
          { step_id: 3, source: "agent", llm_call_count: 0, message: "routed" },
          { step_id: 4, source: "agent", llm_call_count: 3, message: "done", ...invocation(6, 7) },
        ],
        { subagent_trajectories: [sub] },
      ),
    );
    expect(linksOf(trace)).toEqual({
      "s/0": [[], null],
      "s/sub/0": [["s/0"], 1000],
      "s/1": [["s/0", "s/sub/0"], 1000],
    });
    expect(trace.requests.find(({ request_id }) => request_id === "s/sub/0")).toMatchObject({
      agent: "helper",
      prompt: { messages: [{ role: "user", content: "sub q" }] },
    });
    expect(trace.rows.skipped).toEqual({
      "agent step without a model call": 1,
      "step copied from another trajectory": 1,
    });
    expect(rowsAddUp(trace)).toBe(true);
    expect(trace.notes.slice(1)).toEqual([
      "1 agent steps stand for several model calls each: one request is sent for each step",
      "1 trajectories of sub-agents or continuations are in files that are not there: their requests are not replayed",
    ]);
  });

  it("refuses by place", async () => {
    await expect(readWritten(atif, document([{ source: "robot" }]))).rejects.toThrow(
      /steps\[0\]: "source" must be "system", "user" or "agent"/,
    );
    await expect(readWritten(atif, document([{ source: "agent", message: "x" }]))).rejects.toThrow(
      /steps\[0\]: an agent step with neither/,
    );
    await expect(readWritten(atif, { steps: 1 })).rejects.toThrow(/"steps" must be an array, not a number/);
  });
});

describe("atif in several files", () => {
  const agent = (from: number, to: number, message: string, more: object = {}): object => ({
    step_id: 2,
    source: "agent",
    message,
    ...invocation(from, to),
    ...more,
  });
  const observing = (content: string, ...paths: object[]): object => ({
    observation: { results: [{ content, subagent_trajectory_ref: paths }] },
  });
  const path = (trajectory_path: string): object => ({ session_id: trajectory_path, trajectory_path });
  // A summary made by two sub-agents, told by a step of the system; then the rest in another file.
  const files: Record<string, unknown> = {
    "trajectory.json": document(
      [
        user(0, "q"),
        agent(1, 2, "a"),
        {
          step_id: 3,
          source: "system",
          message: "summarized",
          ...observing("", path("trajectory.sum-1.json"), path("/logs/agent/trajectory.sum-2.json")),
        },
        agent(
          9,
          10,
          "b",
          observing("gone", path("trajectory.missing.json"), path("s3://x/trajectory.sum-1.json")),
        ),
      ],
      { continued_trajectory_ref: "trajectory.cont-1.json" },
    ),
    "trajectory.sum-1.json": document([
      user(2, "sum"),
      agent(3, 4, "x", observing("", path("trajectory.json"))),
    ]),
    "trajectory.sum-2.json": document([user(2, "ask"), agent(5, 6, "y")], { agent: { name: "asker" } }),
    "trajectory.cont-1.json": document([
      {
        step_id: 1,
        source: "user",
        is_copied_context: true,
        message: "q",
        timestamp: "2020-01-01T00:00:00Z",
      },
      agent(1, 2, "a", { is_copied_context: true, ...observing("", path("trajectory.sum-1.json")) }),
      agent(12, 13, "c"),
    ]),
  };
  const readFiles = async (name: string): Promise<Trace> => {
    const folder = mkdtempSync(join(tmpdir(), "reprise-atif-"));
    for (const [file, value] of Object.entries(files))
      writeFileSync(join(folder, file), JSON.stringify(value));
    const trace = await atif.read(join(folder, name), { skipBad: false });
    rmSync(folder, { recursive: true });
    return trace;
  };
  const links = {
    "s/0": [[], null],
    "s/trajectory.sum-1.json/0": [["s/0"], 1000],
    "s//logs/agent/trajectory.sum-2.json/0": [["s/0"], 3000],
    "s/1": [["s//logs/agent/trajectory.sum-2.json/0", "s/0", "s/trajectory.sum-1.json/0"], 3000],
    "s/2": [["s/1"], 2000],
  };

  it("resolves sub-agents and continuations beside the file, each once, and counts what is missing", async () => {
    const trace = await readFiles("trajectory.json");
    expect(linksOf(trace)).toEqual(links);
    expect(trace.requests.find(({ agent: name }) => name === "asker")?.request_id).toBe(
      "s//logs/agent/trajectory.sum-2.json/0",
    );
    expect(trace.requests.find(({ request_id }) => request_id === "s/2")?.prompt).toMatchObject({
      messages: [
        { role: "user", content: "q" },
        { role: "assistant", content: "a" },
      ],
    });
    expect(trace.rows).toEqual({
      read: 11,
      used: 10,
      skipped: { "step copied from another trajectory": 1 },
      refused: 0,
    });
    expect(trace.notes.slice(1)).toEqual([
      "2 trajectories of sub-agents or continuations are in files that are not there: their requests are not replayed",
    ]);
  });

  it("reads a folder's trajectories once, parts with their whole", async () => {
    const trace = await readFiles("");
    expect(linksOf(trace)).toEqual(links);
  });

  it("names the file of a bad step", async () => {
    const kept = files["trajectory.sum-2.json"];
    files["trajectory.sum-2.json"] = document([{ source: "robot" }]);
    await expect(readFiles("trajectory.json")).rejects.toThrow(
      /trajectory\.sum-2\.json: steps\[0\]: "source" must be/,
    );
    files["trajectory.sum-2.json"] = kept;
  });
});
