/** Codex sub-agents: threads in logs of their own, and what newer logs tell beside the items. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { jsonl, linksOf, readWritten, rowsAddUp } from "../../../test/trace/written-trace.ts";
import type { Trace } from "../trace.ts";
import { codex } from "./codex.ts";

const T0 = Date.UTC(2026, 6, 14, 20);
const row = (at: number, type: string, payload: object): object => ({
  timestamp: new Date(T0 + at).toISOString(),
  type,
  payload,
});
const item = (at: number, type: string, payload: object): object =>
  row(at, "response_item", { type, ...payload });
const event = (at: number, type: string, payload: object): object =>
  row(at, "event_msg", { type, ...payload });
const user = (at: number, text: string): object =>
  item(at, "message", { role: "user", content: [{ type: "input_text", text }] });
const says = (at: number, text: string): object =>
  item(at, "message", { role: "assistant", content: [{ type: "output_text", text }] });
const call = (at: number, call_id: string, name: string, input: object = {}): object =>
  item(at, "function_call", { call_id, name, arguments: JSON.stringify(input) });
const result = (at: number, call_id: string, output: object): object =>
  item(at, "function_call_output", { call_id, output: JSON.stringify(output) });
/** Totals grow, so every report is a new request. */
const used = (at: number, input: number, output: number): object =>
  event(at, "token_count", {
    info: {
      last_token_usage: { input_tokens: input, output_tokens: output },
      total_token_usage: { total_tokens: at },
    },
  });
const meta = (at: number, id: string, parent: string, more: object = {}): object =>
  row(at, "session_meta", {
    id,
    thread_source: "subagent",
    source: { subagent: { thread_spawn: { parent_thread_id: parent, depth: 1, ...more } } },
  });

async function readAll(files: Record<string, readonly object[]>): Promise<Trace> {
  const folder = mkdtempSync(join(tmpdir(), "reprise-codex-agents-"));
  for (const [name, rows] of Object.entries(files)) writeFileSync(join(folder, name), jsonl(rows));
  const trace = await codex.read(folder, { skipBad: false });
  rmSync(folder, { recursive: true });
  return trace;
}

const main = [
  row(0, "session_meta", { id: "p", source: "cli" }),
  user(0, "ask two"),
  call(1000, "c1", "spawn_agent", { message: "look" }),
  call(1100, "c2", "spawn_agent", { message: "judge", task_name: "judge" }),
  result(1200, "c1", { agent_id: "kid", nickname: "Ada" }),
  event(1250, "sub_agent_activity", {
    kind: "started",
    event_id: "c2",
    agent_thread_id: "two",
    agent_path: "/lead/judge",
  }),
  result(1300, "c2", { task_name: "/lead/judge" }),
  used(1310, 100, 20), // p/0: 0 … 1100
  call(2000, "w1", "wait_agent", { targets: ["kid"] }),
  used(2010, 150, 5), // p/1: 1300 … 2000
  result(3000, "w1", { status: {}, timed_out: true }),
  call(3500, "w2", "wait_agent", { targets: ["kid"] }),
  used(3510, 170, 5), // p/2: 3000 … 3500
  result(6200, "w2", { status: { kid: { completed: "found" } } }),
  call(7000, "f1", "followup_task", { target: "judge", message: "again" }),
  used(7010, 200, 9), // p/3: 6200 … 7000, after kid/1
  result(7100, "f1", {}),
  says(7500, "waiting"),
  used(7510, 230, 2), // p/4: 7100 … 7500
  row(9300, "inter_agent_communication", {
    author: "/lead/judge",
    recipient: "/root",
    content: "Message Type: FINAL_ANSWER\nPayload:\nfine",
    trigger_turn: true,
  }),
  says(9900, "all done"),
  used(9910, 260, 3), // p/5: 9300 … 9900, after two/1
];
const kid = [
  meta(1150, "kid", "p", { agent_nickname: "Ada" }),
  user(1500, "look"),
  call(2500, "x", "shell"),
  used(2510, 50, 7),
  result(2600, "x", {}),
  says(6000, "found"),
  used(6010, 60, 4),
];
const judge = [
  meta(1250, "two", "p", { agent_path: "/lead/judge" }),
  item(1400, "agent_message", {
    author: "/root",
    recipient: "/lead/judge",
    content: [
      { type: "input_text", text: "Message Type: NEW_TASK" },
      { type: "encrypted_content", encrypted_content: "gAAA" },
    ],
  }),
  says(4000, "fine so far"),
  used(4010, 40, 6),
  row(7050, "inter_agent_communication", { author: "/root", content: "", encrypted_content: "gAAA" }),
  says(9000, "fine"),
  used(9010, 55, 3),
];

describe("codex sub-agents", () => {
  it("stand in their parents' jobs, from the call that started or woke them to the request that had their result", async () => {
    const trace = await readAll({ "a.jsonl": main, "b.jsonl": kid, "c.jsonl": judge });
    expect(new Set(trace.requests.map(({ job_id }) => job_id))).toEqual(new Set(["p"]));
    expect(linksOf(trace)).toEqual({
      "p/0": [[], null],
      "kid/0": [["p/0"], 1500 - 1100],
      "kid/1": [["kid/0"], 100],
      "two/0": [["p/0"], 1400 - 1100],
      "two/1": [["p/3", "two/0"], 7050 - 7000],
      "p/1": [["p/0"], 200],
      "p/2": [["p/1"], 1000],
      "p/3": [["kid/1", "p/2"], 6200 - 6000],
      "p/4": [["p/3"], 100],
      "p/5": [["p/4", "two/1"], 9300 - 9000],
    });
    const agents = Object.fromEntries(trace.requests.map(({ request_id, agent }) => [request_id, agent]));
    expect(agents).toMatchObject({ "p/5": null, "kid/1": "Ada", "two/0": "/lead/judge" });
    expect(trace.notes).toContain("2 sub-agents' sessions are part of the jobs that started them");
    expect(rowsAddUp(trace)).toBe(true);
  });

  it("are found in logs joined to one file, parents first or last", async () => {
    for (const rows of [
      [...main, ...kid, ...judge],
      [...kid, ...judge, ...main],
    ]) {
      const trace = await readWritten(codex, jsonl(rows));
      expect(linksOf(trace)).toMatchObject({
        "kid/0": [["p/0"], 400],
        "two/1": [["p/3", "two/0"], 50],
        "p/3": [["kid/1", "p/2"], 200],
        "p/5": [["p/4", "two/1"], 300],
      });
      expect(rowsAddUp(trace)).toBe(true);
    }
  });

  it("hear what other agents say as input", async () => {
    const trace = await readAll({ "a.jsonl": main, "c.jsonl": judge });
    const promptOf = (id: string): unknown =>
      trace.requests.find(({ request_id }) => request_id === id)?.prompt ?? null;
    expect(promptOf("two/1")).toMatchObject({
      messages: [
        { role: "user", content: "Message Type: NEW_TASK\n[encrypted_content]" },
        { role: "assistant", content: "fine so far" },
      ],
    });
    expect(JSON.stringify(promptOf("p/5"))).toContain("FINAL_ANSWER");
  });

  it("fork by time where no call names them, and are told where their parent is not here", async () => {
    const trace = await readAll({
      "a.jsonl": [
        row(0, "session_meta", { id: "p" }),
        user(0, "go"),
        says(1000, "one"),
        used(1010, 9, 1),
        user(5000, "on"),
        says(6000, "two"),
        used(6010, 12, 1),
      ],
      "b.jsonl": kid,
      "c.jsonl": [meta(7000, "lone", "gone"), user(7000, "?"), says(8000, "!"), used(8010, 3, 1)],
      "d.jsonl": [meta(7000, "self", "self"), user(7000, "?"), says(8000, "!"), used(8010, 3, 1)],
    });
    expect(linksOf(trace)).toMatchObject({
      "kid/0": [["p/0"], 500],
      "p/1": [["p/0"], 4000],
      "lone/0": [[], null],
      "self/0": [[], null],
    });
    expect(trace.notes).toEqual(
      expect.arrayContaining([
        "1 sub-agents' sessions are part of the jobs that started them",
        "1 of them are named by no call: they fork by time",
        "2 sub-agents' sessions, whose parents are not here, are jobs of their own",
      ]),
    );
  });
});

describe("codex logs with ordinals", () => {
  const numbered = (rows: readonly object[]): object[] => rows.map((one, ordinal) => ({ ...one, ordinal }));
  const copying = (more: object): object =>
    row(9000, "session_meta", {
      id: "kid",
      thread_source: "subagent",
      source: { subagent: { thread_spawn: { parent_thread_id: "p" } } },
      ...more,
    });

  it("take what stands before a sub-agent's own first row for its parent's, whenever it was stamped", async () => {
    const trace = await readWritten(
      codex,
      jsonl(
        numbered([
          copying({ subagent_history_start_ordinal: 4 }),
          user(9000, "parent asks"),
          says(9001, "parent says"),
          used(9002, 77, 7),
          user(9003, "kid's task"),
          says(9500, "kid says"),
          used(9510, 90, 5),
        ]),
      ),
    );
    expect(trace.requests.map(({ recorded }) => recorded)).toMatchObject([
      { sent_ms: 0, end_ms: 497, prompt_tokens: 90, output_tokens: 5 },
    ]);
    expect(trace.requests.at(0)?.prompt).toMatchObject({
      messages: [{ content: "parent asks" }, { content: "parent says" }, { content: "kid's task" }],
    });
    expect(trace.rows.skipped["token_count copied from the parent session"]).toBe(1);
  });

  it("keep both files of a session that goes on in a second one", async () => {
    const half = (more: object, input: number): object[] => [
      row(0, "session_meta", { id: "s", ...more }),
      user(0, "go"),
      says(500, "yes"),
      used(510, input, 1),
    ];
    const base = { history_base: { thread_id: "s", end_ordinal_exclusive: 4 } };
    const trace = await readAll({
      "a.jsonl": half({}, 10),
      "b.jsonl": half(base, 20),
      "c.jsonl": half({}, 10),
    });
    expect(trace.requests.map(({ recorded }) => recorded?.prompt_tokens)).toEqual([10, 20]);
    expect(trace.rows.skipped["row of a session's copy"]).toBe(4);
    expect(trace.notes).toContain(
      "1 sessions go on from a history in another file: the prompts sent lack it",
    );
  });
});

describe("codex usage records", () => {
  const record = (at: number, id: string, input: number, output: number): object =>
    row(at, "token_usage_record", {
      response_id: id,
      usage: { input_tokens: input, cached_input_tokens: 0, output_tokens: output },
    });

  it("count each response once, beside the running count, before or after it", async () => {
    const trace = await readWritten(
      codex,
      jsonl([
        row(0, "session_meta", { id: "s" }),
        user(0, "go"),
        says(500, "one"),
        used(510, 10, 1),
        record(520, "r1", 10, 1),
        user(1000, "on"),
        says(2000, "two"),
        record(2010, "r2", 20, 2),
        used(2020, 20, 2),
        record(2030, "r2", 20, 2),
        user(3000, "and"),
        says(4000, "three"),
        record(4010, "r3", 30, 3),
      ]),
    );
    expect(trace.requests.map(({ recorded }) => [recorded?.prompt_tokens, recorded?.output_tokens])).toEqual([
      [10, 1],
      [20, 2],
      [30, 3],
    ]);
    expect(trace.rows.skipped).toEqual({
      session_meta: 1,
      "token_count repeated": 1,
      "token_usage_record repeated": 2,
    });
    expect(rowsAddUp(trace)).toBe(true);
  });
});
