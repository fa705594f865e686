/** Logs of stamped messages with usage: τ²-bench and mini-SWE-agent. */
import { describe, expect, it } from "vitest";
import { linksOf, readWritten, rowsAddUp } from "../../../test/trace/written-trace.ts";
import { sweAgent } from "./swe-agent.ts";
import { isTau2 } from "./tau2-bench.ts";
import { tauBench } from "./tau-bench.ts";

const T0 = Date.UTC(2025, 5, 11, 15);

describe("tau2-bench", () => {
  /** As Python writes it: no zone, microseconds. */
  const stamp = (ms: number): string => new Date(T0 + ms).toISOString().replace("Z", "000");
  const said = (at: number, role: string, content: string | null, more: object = {}): object => ({
    role,
    content,
    tool_calls: null,
    timestamp: stamp(at),
    usage: null,
    ...more,
  });
  const usage = (prompt: number, output: number): object => ({
    usage: { prompt_tokens: prompt, completion_tokens: output },
  });
  const call = (id: string, requestor: string): object => ({
    tool_calls: [{ id, name: "f", arguments: { a: 1 }, requestor }],
  });
  const messages = [
    said(0, "assistant", "Hi! How can I help you today?"),
    said(3000, "user", "fix it", usage(500, 5)),
    said(5000, "assistant", null, { ...call("c1", "assistant"), ...usage(100, 10) }),
    { id: "c1", role: "tool", content: "broken", requestor: "assistant", timestamp: stamp(5100) },
    said(8000, "assistant", "restart it", { ...usage(150, 4), generation_time_seconds: 2.5 }),
    said(9000, "user", null, call("u1", "user")),
    { id: "u1", role: "tool", content: "restarted", requestor: "user", timestamp: stamp(9100) },
    said(11_000, "user", "done"),
    said(12_000, "assistant", "bye", usage(180, 2)),
  ];
  const simulation = { id: "s", task_id: "7", trial: 1, messages, termination_reason: "user_stop" };
  const results = {
    timestamp: stamp(0),
    info: {
      agent_info: { llm: "m", llm_args: { temperature: 0 } },
      environment_info: { domain_name: "telecom", policy: "the policy" },
    },
    tasks: [],
    simulations: [simulation, { ...simulation, messages: null }],
  };

  it("reads the agent's turns with times and usage; the greeting and the user's own tools are none", async () => {
    const trace = await readWritten(tauBench, results);
    expect(linksOf(trace)).toEqual({
      "task-7-trial-1/0": [[], null],
      "task-7-trial-1/1": [["task-7-trial-1/0"], 500], // sent at 8000 − 2500, after 5000
      "task-7-trial-1/2": [["task-7-trial-1/1"], 3000],
    });
    expect(trace.requests.map(({ recorded }) => recorded)).toMatchObject([
      { sent_ms: 0, end_ms: 2000, prompt_tokens: 100, output_tokens: 10 },
      { sent_ms: 2500, end_ms: 5000, prompt_tokens: 150, output_tokens: 4 },
      { sent_ms: 8000, end_ms: 9000, prompt_tokens: 180, output_tokens: 2 },
    ]);
    expect(trace.requests.at(2)).toMatchObject({
      temperature: 0,
      metadata: { model: "m" },
      prompt: {
        messages: [
          { role: "system", content: "the policy" },
          { role: "assistant", content: "Hi! How can I help you today?" },
          { role: "user", content: "fix it" },
          { role: "assistant", tool_calls: [{ id: "c1", function: { name: "f", arguments: '{"a":1}' } }] },
          { role: "tool", tool_call_id: "c1", content: "broken" },
          { role: "assistant", content: "restart it" },
          { role: "user", content: "done" },
        ],
      },
    });
    expect(trace.rows).toEqual({
      read: 10,
      used: 7,
      skipped: {
        "simulation without messages": 1,
        "the user's own tool call": 1,
        "the user's own tool result": 1,
      },
      refused: 0,
    });
  });

  it("reads a simulation in a file of its own, and refuses by place", async () => {
    const alone = await readWritten(tauBench, simulation);
    expect(alone.requests).toHaveLength(3);
    expect(alone.requests.at(0)?.metadata).toBeNull();
    const bad = { ...simulation, messages: [...messages, said(0, "user", "x", { timestamp: "noon" })] };
    await expect(readWritten(tauBench, { ...results, simulations: [bad] })).rejects.toThrow(
      /simulations\[0\]\.messages\[9\]: "timestamp" is no instant/,
    );
  });

  it("says what a run's head and a voice agent's simulation lack", async () => {
    const { info } = results;
    const lacking: [object, string][] = [
      [{ info, tasks: [] }, "a run's head, its simulations are files of their own"],
      [
        { id: "s", task_id: "7", ticks: [{}], termination_reason: "user_stop" },
        "simulation of a voice agent, ticks of audio instead of requests",
      ],
    ];
    for (const [content, reason] of lacking) {
      expect(isTau2(content)).toBe(true);
      const trace = await readWritten(tauBench, content);
      expect(trace.rows).toEqual({ read: 1, used: 0, skipped: { [reason]: 1 }, refused: 0 });
    }
  });
});

describe("mini-swe-agent", () => {
  const at = (seconds: number, more: object = {}): object => ({
    extra: { timestamp: T0 / 1000 + seconds, ...more },
  });
  const response = (content: string, prompt: number, output: number): object => ({
    response: {
      model: "m",
      choices: [{ message: { role: "assistant", content } }],
      usage: {
        prompt_tokens: prompt,
        completion_tokens: output,
        prompt_tokens_details: { cached_tokens: 3 },
      },
    },
  });
  const document = {
    info: {
      model_stats: { api_calls: 3 },
      exit_status: "Submitted",
      config: { model: { model_name: "p/m" } },
    },
    instance_id: "repo__x-1",
    trajectory_format: "mini-swe-agent-1.1",
    messages: [
      { role: "system", content: "sys" },
      { role: "user", content: "task" },
      { role: "assistant", content: "look", ...at(10, response("look", 20, 4)) },
      { role: "tool", tool_call_id: "c", content: "files", ...at(11) },
      // An answer of the wrong form: only the complaint about it stays.
      { role: "user", content: "no command found", ...at(15, response("hm", 40, 2)) },
      { role: "assistant", content: "submit", ...at(18, response("submit", 50, 5)) },
      { role: "exit", content: "Submitted", ...at(18) },
    ],
  };

  it("reads answers with times and usage, those that were thrown away too", async () => {
    const trace = await readWritten(sweAgent, document, { name: "x.traj.json" });
    expect(linksOf(trace)).toEqual({
      "repo__x-1/0": [[], null],
      "repo__x-1/1": [["repo__x-1/0"], 1000],
      "repo__x-1/2": [["repo__x-1/1"], 0],
    });
    expect(trace.requests.map(({ recorded, response_text }) => [response_text, recorded])).toMatchObject([
      ["look", { sent_ms: null, end_ms: 0, prompt_tokens: 20, output_tokens: 4, cached_tokens: 3 }],
      ["hm", { sent_ms: 1000, end_ms: 5000, prompt_tokens: 40 }],
      ["submit", { sent_ms: 5000, end_ms: 8000, prompt_tokens: 50 }],
    ]);
    expect(trace.requests.at(2)?.prompt).toMatchObject({
      messages: [
        { role: "system" },
        { role: "user", content: "task" },
        { role: "assistant", content: "look" },
        { role: "tool", content: "files" },
        { role: "user", content: "no command found" },
      ],
    });
    expect(trace.rows).toEqual({ read: 7, used: 6, skipped: { exit: 1 }, refused: 0 });
    expect(rowsAddUp(trace)).toBe(true);
  });

  it("takes answers of the Responses API as they came, and refuses by place", async () => {
    const answer = {
      object: "response",
      output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "look" }] }],
      usage: { input_tokens: 20, output_tokens: 4 },
      ...at(10),
    };
    const trace = await readWritten(sweAgent, {
      ...document,
      messages: [{ role: "user", content: "task" }, answer],
    });
    expect(trace.requests.at(0)).toMatchObject({
      response_text: "look",
      recorded: { prompt_tokens: 20, output_tokens: 4 },
      metadata: { model: "p/m" },
    });
    await expect(readWritten(sweAgent, { ...document, messages: [answer] })).rejects.toThrow(
      /messages\[0\]: an answer with no messages before it/,
    );
  });
});
