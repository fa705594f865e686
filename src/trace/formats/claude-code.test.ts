/** Claude Code logs: repeated usage, parallel tools, sub-agents in the log itself, compaction, resumed sessions, bad lines. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Line, line, result, T0, text, use, usage } from "../../../test/trace/claude-code-lines.ts";
import { jsonl, linksOf, messagesOf, readWritten, rowsAddUp } from "../../../test/trace/written-trace.ts";
import type { Trace } from "../trace.ts";
import { claudeCode } from "./claude-code.ts";

const read = (rows: readonly unknown[], skipBad = false): Promise<Trace> =>
  readWritten(claudeCode, jsonl(rows), { name: "session.jsonl", skipBad });

describe("claude-code turns", () => {
  const parallelTools = [
    { type: "mode", mode: "normal", sessionId: "s" },
    line({ at: 0, uuid: "u1", content: "do it" }),
    {
      type: "attachment",
      uuid: "x1",
      parentUuid: "u1",
      timestamp: new Date(T0).toISOString(),
      sessionId: "s",
    },
    // One response over four lines; the early ones tell less output.
    line({
      at: 2000,
      uuid: "a1",
      parent: "x1",
      id: "m1",
      content: [{ type: "thinking", thinking: "hm" }],
      usage: usage(10, 20, 70, 1),
    }),
    line({
      at: 2500,
      uuid: "a2",
      parent: "a1",
      id: "m1",
      content: [text("two things")],
      usage: usage(10, 20, 70, 50),
    }),
    line({
      at: 3000,
      uuid: "a3",
      parent: "a2",
      id: "m1",
      content: [use("t1")],
      usage: usage(10, 20, 70, 50),
    }),
    line({
      at: 3100,
      uuid: "a4",
      parent: "a3",
      id: "m1",
      content: [use("t2", "Read")],
      usage: usage(10, 20, 70, 50),
    }),
    // Each result hangs on its own call's line: the chain from the next answer passes only one of them.
    line({ at: 4000, uuid: "r1", parent: "a3", content: [result("t1", "one")] }),
    line({ at: 7100, uuid: "r2", parent: "a4", content: [result("t2", "two")] }),
    line({
      at: 9000,
      uuid: "b1",
      parent: "r2",
      id: "m2",
      content: [text("done")],
      usage: usage(5, 0, 150, 8),
    }),
    { type: "summary", summary: "…", leafUuid: "b1" },
    line({ at: 20_000, uuid: "u2", parent: "b1", content: "never answered" }),
  ];

  it("counts a response once, with cached tokens in the prompt and the last line's output", async () => {
    const trace = await read(parallelTools);
    expect(trace.requests.map(({ recorded }) => recorded)).toMatchObject([
      { sent_ms: 0, end_ms: 3100, prompt_tokens: 100, output_tokens: 50, cached_tokens: 70 },
      { sent_ms: 7100, end_ms: 9000, prompt_tokens: 155, output_tokens: 8, cached_tokens: 150 },
    ]);
    expect(trace.rows).toEqual({
      read: 12,
      used: 8,
      skipped: { attachment: 1, "message that no request held": 1, mode: 1, summary: 1 },
      refused: 0,
    });
  });

  it("keeps all parallel results in the prompt, and times each tool from its own call", async () => {
    const trace = await read(parallelTools);
    expect(messagesOf(trace, 1)).toEqual([
      ["user", "do it"],
      ["assistant", "two things"],
      ["tool", "one"],
      ["tool", "two"],
    ]);
    expect(linksOf(trace)).toEqual({ m1: [[], null], m2: [["m1"], 4000] });
    expect(trace.requests.at(1)?.tool).toEqual([
      { name: "Bash", ms: 1000 },
      { name: "Read", ms: 4000 },
    ]);
  });

  it("starts anew after a compaction, and still waits for the turn before", async () => {
    const rows = [
      line({ at: 0, uuid: "u1", content: "long story" }),
      line({
        at: 1000,
        uuid: "a1",
        parent: "u1",
        id: "m1",
        content: [text("yes")],
        usage: usage(900, 0, 0, 5),
      }),
      {
        type: "system",
        subtype: "compact_boundary",
        uuid: "c",
        parentUuid: null,
        logicalParentUuid: "a1",
        sessionId: "s",
      },
      line({ at: 5000, uuid: "u2", parent: "c", content: "summary of it", more: { isCompactSummary: true } }),
      line({
        at: 7000,
        uuid: "a2",
        parent: "u2",
        id: "m2",
        content: [text("on")],
        usage: usage(40, 0, 0, 5),
      }),
    ];
    const trace = await read(rows);
    expect(messagesOf(trace, 1)).toEqual([["user", "summary of it"]]);
    expect(linksOf(trace)).toEqual({ m1: [[], null], m2: [["m1"], 4000] });
  });

  it("does not count what a resumed session repeats under its own id", async () => {
    const rows = [
      line({ at: 0, uuid: "u1", content: "q" }),
      line({ at: 1000, uuid: "a1", parent: "u1", id: "m1", content: [text("a")], usage: usage(9, 0, 0, 5) }),
      line({ at: 0, uuid: "u1", content: "q", more: { sessionId: "resumed" } }),
      line({
        at: 1000,
        uuid: "a1",
        parent: "u1",
        id: "m1",
        content: [text("a")],
        usage: usage(9, 0, 0, 5),
        more: { sessionId: "resumed" },
      }),
      line({ at: 9000, uuid: "u2", parent: "a1", content: "more", more: { sessionId: "resumed" } }),
      line({
        at: 9500,
        uuid: "a2",
        parent: "u2",
        id: "m2",
        content: [text("b")],
        usage: usage(20, 0, 0, 6),
        more: { sessionId: "resumed" },
      }),
    ];
    const trace = await read(rows);
    expect(trace.requests.map(({ job_id, recorded }) => [job_id, recorded?.prompt_tokens])).toEqual([
      ["s", 9],
      ["resumed", 20],
    ]);
    expect(trace.rows.skipped).toEqual({ "answer logged again": 1, "message logged again": 1 });
    expect(rowsAddUp(trace)).toBe(true);
  });

  it("leaves out what the client made itself, and refuses lines that are no objects", async () => {
    const rows = [
      line({ at: 0, uuid: "u1", content: "q" }),
      line({
        at: 10,
        uuid: "e",
        parent: "u1",
        id: "x",
        content: [text("API Error")],
        usage: usage(0, 0, 0, 0),
        more: { isApiErrorMessage: true },
      }),
      line({ at: 1000, uuid: "a1", parent: "e", id: "m1", content: [text("a")], usage: usage(9, 0, 0, 5) }),
    ];
    const trace = await read(rows);
    expect(trace.requests.map(({ request_id }) => request_id)).toEqual(["m1"]);
    await expect(readWritten(claudeCode, `${jsonl(rows)}\n"text"`, { name: "s.jsonl" })).rejects.toThrow(
      /s\.jsonl:4: a row must be a JSON object/,
    );
  });
});

describe("claude-code sub-agents", () => {
  const side = (row: Line): object => line({ ...row, more: { isSidechain: true } });
  const fork = (resultAt: number, status?: string): object[] => [
    line({ at: 0, uuid: "u1", content: "q" }),
    line({
      at: 1000,
      uuid: "a1",
      parent: "u1",
      id: "m1",
      content: [use("task", "Task", { prompt: "look around" })],
      usage: usage(9, 0, 0, 5),
    }),
    side({ at: 1200, uuid: "s1", content: "look around" }),
    side({
      at: 3000,
      uuid: "s2",
      parent: "s1",
      id: "n1",
      content: [use("g", "Grep")],
      usage: usage(5, 0, 0, 2),
    }),
    side({ at: 3400, uuid: "s3", parent: "s2", content: [result("g")] }),
    side({
      at: 6000,
      uuid: "s4",
      parent: "s3",
      id: "n2",
      content: [text("found")],
      usage: usage(8, 0, 0, 2),
    }),
    line({
      at: resultAt,
      uuid: "r1",
      parent: "a1",
      content: [result("task", "found")],
      more: { toolUseResult: { status: status ?? "completed" } },
    }),
    line({
      at: resultAt + 2000,
      uuid: "a2",
      parent: "r1",
      id: "m2",
      content: [text("done")],
      usage: usage(20, 0, 0, 5),
    }),
  ];

  it("forks from the call and joins at the request that holds its result", async () => {
    const trace = await read(fork(6100));
    expect(linksOf(trace)).toEqual({
      m1: [[], null],
      n1: [["m1"], 200],
      n2: [["n1"], 400],
      m2: [["m1", "n2"], 100], // from the sub-agent's end at 6000, not from 1000
    });
    expect(trace.requests.map(({ request_id, agent }) => [request_id, agent === null])).toEqual([
      ["m1", true],
      ["n1", false],
      ["n2", false],
      ["m2", true],
    ]);
    expect(messagesOf(trace, 2)).toEqual([
      ["user", "look around"],
      ["assistant", null],
      ["tool", "r"],
    ]);
    expect(messagesOf(trace, 3)).toEqual([
      ["user", "q"],
      ["assistant", null],
      ["tool", "found"],
    ]);
  });

  it("lets nobody wait for one that was only launched", async () => {
    const trace = await read(fork(1100, "async_launched"));
    expect(linksOf(trace)).toMatchObject({ n1: [["m1"], 200], m2: [["m1"], 100] });
  });

  it("finds sub-agents in the files beside their session's", async () => {
    const rows = fork(6100);
    const folder = mkdtempSync(join(tmpdir(), "reprise-claude-"));
    const isSide = (row: object): boolean => "isSidechain" in row && row.isSidechain === true;
    writeFileSync(join(folder, "agent-1.jsonl"), jsonl(rows.filter(isSide)));
    writeFileSync(join(folder, "s.jsonl"), `${jsonl(rows.filter((row) => !isSide(row)))}\n[1]`);
    const trace = await claudeCode.read(folder, { skipBad: true });
    rmSync(folder, { recursive: true });
    expect(linksOf(trace)).toEqual({
      m1: [[], null],
      n1: [["m1"], 200],
      n2: [["n1"], 400],
      m2: [["m1", "n2"], 100],
    });
    expect(trace.faults.map(({ file, line }) => [basename(file), line])).toEqual([["s.jsonl", 5]]);
    expect(rowsAddUp(trace)).toBe(true);
  });

  it("takes a folder's .json files where it holds no .jsonl", async () => {
    const folder = mkdtempSync(join(tmpdir(), "reprise-claude-"));
    writeFileSync(join(folder, "trace.json"), jsonl(fork(6100)));
    const trace = await claudeCode.read(folder, { skipBad: false });
    expect(trace.requests).toHaveLength(4);
    // Beside logs, other JSON is none of them.
    writeFileSync(join(folder, "s.jsonl"), jsonl(fork(6100)));
    writeFileSync(join(folder, "trace.json"), JSON.stringify({ index: [] }));
    expect((await claudeCode.read(folder, { skipBad: false })).requests).toHaveLength(4);
    rmSync(folder, { recursive: true });
  });
});
