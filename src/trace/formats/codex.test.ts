/** Codex logs: cached-inclusive counts, repeated reports, messages logged twice, compaction. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
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
    expect(trace.requests.at(1)?.tool).toEqual([
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
    expect(trace.requests.at(1)?.prompt).toEqual({
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
    expect(trace.requests.at(2)?.prompt).toMatchObject({
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

describe("codex forks", () => {
  const began = (at: number, turn: object = { started_at: Math.floor((T0 + at) / 1000) }): object =>
    row(at, "event_msg", { type: "task_started", ...turn });
  const parent = [
    row(0, "session_meta", { id: "p" }),
    began(0),
    message(100, "user", "go"),
    message(900, "assistant", "gone"),
    count(1000, 100, 60, 30, 130),
  ];
  /** The same rows as a fork writes them: stamped anew, within a few ms. */
  const copied = (at: number): object[] =>
    parent.map((one) => ({ ...one, timestamp: new Date(T0 + at).toISOString() }));
  const forkMeta = (told: object): object =>
    row(60_000, "session_meta", { id: "f", timestamp: new Date(T0 + 60_000).toISOString(), ...told });
  const own = (begin: object): object[] => [
    begin,
    message(62_000, "user", "again"),
    message(63_000, "assistant", "done"),
    count(63_100, 150, 90, 5, 285),
  ];
  const spawned = { source: { subagent: { thread_spawn: { parent_thread_id: "p" } } } };

  const ways: [string, object, object[], object][] = [
    ["by when its turn began", { forked_from_id: "p" }, copied(60_001), began(62_000)],
    [
      "by the time in its turn's id",
      spawned,
      copied(60_001).map(
        (one) => JSON.parse(JSON.stringify(one).replace(/"started_at":\d+/, '"x":1')) as object,
      ),
      row(62_000, "turn_context", { turn_id: uuid7(T0 + 62_000), model: "m" }),
    ],
    [
      "by its own settings",
      { parent_thread_id: "p" },
      copied(60_001),
      row(61_000, "event_msg", { type: "thread_settings_applied", thread_id: "f" }),
    ],
    [
      "by time, where nothing else tells",
      { forked_from_id: "p" },
      copied(60_001).filter((one) => !JSON.stringify(one).includes("task_started")),
      row(62_000, "turn_context", { model: "m" }),
    ],
    [
      "by time, where the copy kept its stamps",
      { forked_from_id: "p" },
      parent.filter((one) => !JSON.stringify(one).includes("task_started")),
      row(60_010, "turn_context", { model: "m" }),
    ],
  ];
  for (const [how, told, history, begin] of ways)
    it(`counts its own requests only: ${how}`, async () => {
      const trace = await read([forkMeta(told), ...history, ...own(begin)]);
      expect(trace.requests).toHaveLength(1);
      expect(trace.requests.at(0)).toMatchObject({
        request_id: "f/0",
        job_id: "f",
        arrival_ms: 0,
        after: [],
        recorded: { sent_ms: 0, end_ms: 1000, prompt_tokens: 150, output_tokens: 5, cached_tokens: 90 },
        prompt: {
          messages: [
            { role: "user", content: "go" },
            { role: "assistant", content: "gone" },
            { role: "user", content: "again" },
          ],
        },
      });
      expect(trace.rows.skipped["token_count copied from the parent session"]).toBe(1);
      expect(rowsAddUp(trace)).toBe(true);
      expect(trace.notes).toContain(
        "1 requests are copies of the parent session's: they are history here, and not sent again",
      );
    });

  it("counts all of a fork that copied nothing", async () => {
    const trace = await read([forkMeta({ forked_from_id: "p" }), ...own(began(60_000))]);
    expect(trace.requests.map(({ recorded }) => recorded?.prompt_tokens)).toEqual([150]);
  });

  it("reads sessions joined in one file apart", async () => {
    const trace = await read([
      ...parent,
      forkMeta({ forked_from_id: "p" }),
      ...copied(60_001),
      ...own(began(62_000)),
    ]);
    expect(trace.requests.map(({ request_id, recorded }) => [request_id, recorded?.prompt_tokens])).toEqual([
      ["p/0", 100],
      ["f/0", 150],
    ]);
    expect(linksOf(trace)).toEqual({ "p/0": [[], null], "f/0": [[], null] });
  });

  it("keeps the jobs of sessions joined twice, or named late, apart", async () => {
    const twice = await read([
      ...parent,
      ...own(began(62_000)),
      forkMeta({}),
      ...own(began(62_000)),
      ...parent,
    ]);
    expect(twice.requests.map(({ request_id }) => request_id)).toEqual(["p/0", "p/1", "f/0", "p#2/0"]);
    const late = await read([...own(began(62_000)), ...parent]);
    expect(linksOf(late)).toEqual({ "rollout/0": [[], null], "p/0": [[], null] });
  });

  it("reads a session that lies in a folder twice once, whatever the folders", async () => {
    const folder = mkdtempSync(join(tmpdir(), "reprise-codex-"));
    const files = {
      "2026/03/21/rollout-p.jsonl": [...parent, message(5000, "user", "never answered")],
      "archived/rollout-p.jsonl": parent,
      "2026/03/21/rollout-f.jsonl": [
        forkMeta({ forked_from_id: "p" }),
        ...copied(60_001),
        ...own(began(62_000)),
      ],
    };
    for (const [name, rows] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), jsonl(rows));
    }
    const trace = await codex.read(folder, { skipBad: false });
    rmSync(folder, { recursive: true });
    expect(trace.requests.map(({ request_id, arrival_ms }) => [request_id, arrival_ms])).toEqual([
      ["f/0", 62_000 - 100],
      ["p/0", 0],
    ]);
    expect(trace.rows.skipped).toMatchObject({
      "row of a session's copy": 5,
      "item after the last request": 1,
    });
    expect(rowsAddUp(trace)).toBe(true);
    expect(trace.notes).toContain("1 files hold a session that a longer file holds: they are not read");
  });
});

describe("codex without usage", () => {
  const says = [
    item(0, { type: "message", role: "user", content: [{ type: "input_text", text: "go" }] }),
    item(1000, { type: "function_call", name: "shell", arguments: "{}", call_id: "c" }),
    item(3000, { type: "function_call_output", call_id: "c", output: "one" }),
    message(5000, "assistant", "done"),
  ];

  it("makes a request of every answer, its length unknown", async () => {
    const trace = await read([row(0, "session_meta", { id: "s" }), ...says]);
    expect(linksOf(trace)).toEqual({ "s/0": [[], null], "s/1": [["s/0"], 2000] });
    expect(trace.requests.map(({ recorded }) => recorded)).toEqual([
      {
        sent_ms: 0,
        first_token_ms: null,
        end_ms: 1000,
        prompt_tokens: null,
        output_tokens: null,
        cached_tokens: null,
      },
      {
        sent_ms: 3000,
        first_token_ms: null,
        end_ms: 5000,
        prompt_tokens: null,
        output_tokens: null,
        cached_tokens: null,
      },
    ]);
    expect(trace.provenance).toMatchObject({ prompt_length: "missing", output_length: "missing" });
    expect(rowsAddUp(trace)).toBe(true);
  });

  it("reads the oldest logs, whose items stand bare", async () => {
    const bare = says.map((one) => (one as { payload: object }).payload);
    const trace = await read([
      { id: "old", timestamp: new Date(T0).toISOString(), instructions: "be good" },
      { record_type: "state" },
      ...bare,
    ]);
    expect(trace.requests.map(({ request_id, think_ms }) => [request_id, think_ms])).toEqual([
      ["old/0", null],
      ["old/1", null],
    ]);
    expect(trace.requests.at(1)?.prompt).toMatchObject({
      messages: [
        { role: "system" },
        { role: "user" },
        { role: "assistant" },
        { role: "tool", content: "one" },
      ],
    });
    expect(trace.rows.skipped).toEqual({ session_meta: 1, state: 1 });
  });
});

/** A version 7 UUID made at this instant. */
function uuid7(epoch_ms: number): string {
  const hex = epoch_ms.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}
