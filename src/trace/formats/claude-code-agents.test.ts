/** Claude Code sub-agents in files of their own: nested, in the background, forked, in workflows. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Line, line, result, text, use, usage } from "../../../test/trace/claude-code-lines.ts";
import { jsonl, linksOf, messagesOf, rowsAddUp } from "../../../test/trace/written-trace.ts";
import type { Trace } from "../trace.ts";
import { claudeCode } from "./claude-code.ts";

describe("claude-code sub-agents in files of their own", () => {
  const answer = (at: number, uuid: string, parent: string, id: string, content: unknown): object =>
    line({ at, uuid, parent, id, content: [content], usage: usage(9, 0, 0, 5) });
  const side = (agent: string, row: Line): object =>
    line({ ...row, more: { isSidechain: true, agentId: agent, ...row.more } });
  const sideAnswer = (
    agent: string,
    at: number,
    uuid: string,
    parent: string,
    id: string,
    content: unknown,
  ) => side(agent, { at, uuid, parent, id, content: [content], usage: usage(5, 0, 0, 2) });
  const launched = (at: number, uuid: string, parent: string, id: string, told: object): object =>
    line({ at, uuid, parent, content: [result(id)], more: { toolUseResult: told } });
  const task = (id: string, prompt: string): object => use(id, "Agent", { prompt });

  /** Files by their path in the session's folder; reads `path`. */
  const readFiles = async (files: Record<string, object[] | object>, path: string): Promise<Trace> => {
    const folder = mkdtempSync(join(tmpdir(), "reprise-claude-"));
    for (const [name, rows] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), Array.isArray(rows) ? jsonl(rows) : JSON.stringify(rows));
    }
    const trace = await claudeCode.read(join(folder, path), { skipBad: false });
    rmSync(folder, { recursive: true });
    expect(rowsAddUp(trace)).toBe(true);
    return trace;
  };

  // Two sub-agents that are asked the same; the first asks a third.
  const main = [
    line({ at: 0, uuid: "u1", content: "q" }),
    answer(1000, "a1", "u1", "m1", task("t1", "look")),
    answer(1001, "a1b", "a1", "m1", task("t2", "look")),
    launched(9000, "r1", "a1", "t1", { status: "completed", agentId: "x" }),
    launched(9500, "r2", "a1b", "t2", { status: "completed", agentId: "y" }),
    answer(12_000, "a2", "r2", "m2", text("done")),
  ];
  const x = [
    side("x", { at: 1100, uuid: "x1", content: "look" }),
    sideAnswer("x", 2000, "x2", "x1", "nx1", task("t3", "deeper")),
    side("x", {
      at: 8000,
      uuid: "x3",
      parent: "x2",
      content: [result("t3")],
      more: { toolUseResult: { status: "completed", agentId: "z" } },
    }),
    sideAnswer("x", 8900, "x4", "x3", "nx2", text("found")),
  ];
  const y = [
    side("y", { at: 1100, uuid: "y1", content: "look" }),
    sideAnswer("y", 9400, "y2", "y1", "ny1", text("nothing")),
  ];
  const z = [
    side("z", { at: 2100, uuid: "z1", content: "deeper" }),
    sideAnswer("z", 7900, "z2", "z1", "nz1", text("deep")),
  ];
  const nested = {
    "s.jsonl": main,
    "s/subagents/agent-x.jsonl": x,
    "s/subagents/agent-x.meta.json": { agentType: "Explore", toolUseId: "t1", spawnDepth: 1 },
    "s/subagents/agent-y.jsonl": y,
    "s/subagents/agent-z.jsonl": z,
    "s/tool-results/t9.json": { not: "a log" },
  };
  const links = {
    m1: [[], null],
    nx1: [["m1"], 99], // from the last line of the answer, 1001
    ny1: [["m1"], 99],
    nz1: [["nx1"], 100],
    nx2: [["nx1", "nz1"], 100],
    m2: [["m1", "nx2", "ny1"], 100],
  };

  it("reads a session with what stands in its folder, agents of agents too", async () => {
    const trace = await readFiles(nested, "s.jsonl");
    expect(linksOf(trace)).toEqual(links);
    expect(new Set(trace.requests.map(({ job_id }) => job_id))).toEqual(new Set(["s"]));
    expect(trace.requests.find(({ request_id }) => request_id === "nx1")).toMatchObject({
      agent: "x",
      metadata: { model: "m", agent_type: "Explore" },
    });
    expect(trace.rows).toEqual({ read: 14, used: 14, skipped: {}, refused: 0 });
    expect(trace.notes.slice(2)).toEqual([
      "3 sub-agents: who waited for them is inferred",
      "3 files of sub-agents beside the session were read with it",
    ]);
  });

  it("reads the same from the folder of the session, and from a folder of projects", async () => {
    expect(linksOf(await readFiles(nested, ""))).toEqual(links);
    const project = Object.fromEntries(Object.entries(nested).map(([name, rows]) => [`p/${name}`, rows]));
    expect(linksOf(await readFiles(project, ""))).toEqual(links);
  });

  it("takes older agent files beside the session, and no other session's", async () => {
    const other = y.map((row) => ({ ...row, sessionId: "else" }));
    const trace = await readFiles(
      { "s.jsonl": main, "agent-x.jsonl": x, "agent-y.jsonl": y, "agent-z.jsonl": z, "agent-w.jsonl": other },
      "s.jsonl",
    );
    expect(linksOf(trace)).toEqual(links);
  });

  it("belongs to the session whose folder it stands in, whatever id its rows carry", async () => {
    const own = y.map((row) => ({ ...row, sessionId: "s#agent-y" }));
    const trace = await readFiles({ ...nested, "s/subagents/agent-y.jsonl": own }, "s.jsonl");
    expect(linksOf(trace)).toEqual(links);
  });

  it("joins one in the background at the notice of its end, and forks again at a message", async () => {
    const notice = (at: number, uuid: string, parent: string): object =>
      line({
        at,
        uuid,
        parent,
        content:
          "<task-notification>\n<task-id>x</task-id>\n<status>completed</status>\n</task-notification>",
        more: { origin: { kind: "task-notification" } },
      });
    const rows = [
      line({ at: 0, uuid: "u1", content: "q" }),
      answer(1000, "a1", "u1", "m1", task("t1", "look")),
      launched(1100, "r1", "a1", "t1", { status: "async_launched", agentId: "x" }),
      answer(2000, "a2", "r1", "m2", text("meanwhile")),
      notice(6000, "u2", "a2"),
      answer(7000, "a3", "u2", "m3", use("t2", "SendMessage", { to: "x", message: "more" })),
      line({ at: 7100, uuid: "r2", parent: "a3", content: [result("t2")] }),
      answer(8000, "a4", "r2", "m4", text("waiting")),
      notice(9900, "u3", "a4"),
      answer(11_000, "a5", "u3", "m5", text("done")),
    ];
    const agent = [
      side("x", { at: 1050, uuid: "x1", content: "look" }),
      sideAnswer("x", 5000, "x2", "x1", "n1", text("found")),
      side("x", { at: 7200, uuid: "x3", parent: "x2", content: "more" }),
      sideAnswer("x", 9800, "x4", "x3", "n2", text("found more")),
    ];
    const trace = await readFiles({ "s.jsonl": rows, "s/subagents/agent-x.jsonl": agent }, "s.jsonl");
    expect(linksOf(trace)).toEqual({
      m1: [[], null],
      n1: [["m1"], 50],
      m2: [["m1"], 100],
      m3: [["m2", "n1"], 1000],
      n2: [["m3", "n1"], 200],
      m4: [["m3"], 100],
      m5: [["m4", "n2"], 100],
    });
  });

  it("gives a forked one its parent's history, and counts the answer that it copies once", async () => {
    const copy = side("f", {
      at: 1000,
      uuid: "f1",
      id: "m1",
      content: [task("t1", "look")],
      usage: usage(9, 0, 0, 5),
    });
    const forked = [
      {
        type: "fork-context-ref",
        agentId: "f",
        parentSessionId: "s",
        parentLastUuid: "u1",
        contextLength: 1,
      },
      copy,
      side("f", { at: 1200, uuid: "f2", parent: "f1", content: "now look" }),
      sideAnswer("f", 3000, "f3", "f2", "n1", text("seen")),
    ];
    const rows = [
      line({ at: 0, uuid: "u1", content: "q" }),
      answer(1000, "a1", "u1", "m1", task("t1", "look")),
      launched(3500, "r1", "a1", "t1", { status: "completed", agentId: "f" }),
      answer(5000, "a2", "r1", "m2", text("done")),
    ];
    const trace = await readFiles({ "s.jsonl": rows, "s/subagents/agent-f.jsonl": forked }, "s.jsonl");
    expect(linksOf(trace)).toEqual({ m1: [[], null], n1: [["m1"], 200], m2: [["m1", "n1"], 500] });
    const at = trace.requests.findIndex(({ request_id }) => request_id === "n1");
    expect(messagesOf(trace, at)).toEqual([
      ["user", "q"],
      ["assistant", null],
      ["user", "now look"],
    ]);
    expect(trace.rows.skipped).toEqual({ "answer logged again": 1, "fork-context-ref": 1 });
  });

  it("forks the steps of a workflow from the call that started it; a stranger only by time", async () => {
    const rows = [
      line({ at: 0, uuid: "u1", content: "q" }),
      answer(1000, "a1", "u1", "m1", use("w1", "Workflow", { scriptPath: "w.js" })),
      launched(1100, "r1", "a1", "w1", { status: "async_launched", runId: "wf_1", taskId: "k1" }),
      answer(2000, "a2", "r1", "m2", text("started")),
      line({
        at: 8000,
        uuid: "u2",
        parent: "a2",
        content: "<task-notification><task-id>k1</task-id></task-notification>",
      }),
      answer(9000, "a3", "u2", "m3", text("done")),
    ];
    const step = [
      side("x", { at: 1500, uuid: "x1", content: "step" }),
      sideAnswer("x", 7000, "x2", "x1", "n1", text("ok")),
    ];
    const stranger = [
      side("v", { at: 2500, uuid: "v1", content: "Warmup" }),
      sideAnswer("v", 3000, "v2", "v1", "n2", text("ready")),
    ];
    const trace = await readFiles(
      {
        "s.jsonl": rows,
        "s/subagents/workflows/wf_1/agent-x.jsonl": step,
        "s/subagents/workflows/wf_1/journal.jsonl": { type: "step" },
        "s/subagents/agent-v.jsonl": stranger,
      },
      "s.jsonl",
    );
    expect(linksOf(trace)).toEqual({
      m1: [[], null],
      n1: [["m1"], 500],
      m2: [["m1"], 100],
      n2: [["m2"], 500],
      m3: [["m2", "n1"], 1000],
    });
    expect(trace.notes[2]).toBe(
      "2 sub-agents: who waited for them is inferred; 1 are placed by time only, nothing tells who called them",
    );
  });

  it("waits for the steps of its workflow that ended before it began", async () => {
    // Two at once; then, as each ended, one of its own; then one for all.
    const steps: [string, number, number][] = [
      ["a", 1000, 2000],
      ["b", 1000, 4000],
      ["c", 2100, 5000],
      ["d", 4100, 4900],
      ["e", 5100, 6000],
      ["f", 5100, 6000],
    ];
    const trace = await readFiles(
      Object.fromEntries(
        steps.map(([id, from, to]) => [
          `s/subagents/workflows/wf_1/agent-${id}.jsonl`,
          [
            side(id, { at: from, uuid: `${id}1`, content: "step" }),
            sideAnswer(id, to, `${id}2`, `${id}1`, id, text("ok")),
          ],
        ]),
      ),
      "s",
    );
    expect(linksOf(trace)).toEqual({
      a: [[], null],
      b: [[], null],
      c: [["a"], 100],
      d: [["b"], 100],
      e: [["c", "d"], 100],
      f: [["c", "d"], 100],
    });
  });

  it("leaves out a link that would close a circle", async () => {
    // Damaged sidecars: each of the two claims to be called by the other.
    const rows = (own: string, callee: string): object[] => [
      side(own, { at: 0, uuid: `${own}1`, content: "q" }),
      sideAnswer(own, 1000, `${own}2`, `${own}1`, `n${own}`, task(`t${callee}`, "go")),
    ];
    const trace = await readFiles(
      {
        "s/subagents/agent-x.jsonl": rows("x", "y"),
        "s/subagents/agent-x.meta.json": { toolUseId: "tx" },
        "s/subagents/agent-y.jsonl": rows("y", "x"),
        "s/subagents/agent-y.meta.json": { toolUseId: "ty" },
        "s/workflows/wf_1.json": { runId: "wf_1", status: "completed" },
      },
      "s",
    );
    expect(trace.rows).toEqual({ read: 4, used: 4, skipped: {}, refused: 0 });
    expect(Object.values(linksOf(trace)).map(([parents]) => parents.length)).toEqual([0, 1]);
  });
});
