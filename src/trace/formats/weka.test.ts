/** Weka sessions: hand-made DAGs with hand-computed parents and think times, and the traps of the format. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { gzipSync } from "node:zlib";
import { resolveJobs } from "../jobs.ts";
import type { Trace } from "../trace.ts";
import { weka } from "./weka.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-weka-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface Request {
  t: number;
  in: number;
  out?: number;
  api_time?: number;
  think_time?: number;
}
const ids = (tokens: number, from = 0): number[] =>
  Array.from({ length: Math.floor(tokens / 64) }, (_, i) => from + i);
const request = (row: Request): object => ({
  type: "n",
  model: "m",
  out: 10,
  stop: "tool_use",
  hash_ids: ids(row.in),
  ...row,
});
const session = (requests: readonly unknown[], id = "s"): string =>
  JSON.stringify({ id, models: ["m"], block_size: 64, hash_id_scope: "local", requests });
const read = (text: string | Buffer, skipBad = false, name = "s.json"): Promise<Trace> => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return weka.read(path, { skipBad });
};
/** id → [parents' ids, think]. */
function links(trace: Trace): Record<string, [string[], number | null]> {
  const [job] = resolveJobs(trace.requests);
  const turns = job?.turns ?? [];
  return Object.fromEntries(
    turns.map(({ request, parents, think_ms }) => [
      request.request_id,
      [parents.map((at) => turns[at]?.request.request_id ?? "?").sort(), think_ms],
    ]),
  );
}

describe("weka sub-agents", () => {
  // The parent answers from 0 to 10 s and spawns two at 10.5 s: one runs 20 s, its request ends 18 s in (28.5 s);
  // the other is launched and forgotten at 10.75 s. The parent goes on at 33 s: its own think_time says 23 s.
  const forked = session([
    request({ t: 0, in: 128, api_time: 10, think_time: 0 }),
    {
      t: 10.75,
      type: "subagent",
      agent_id: "bg",
      subagent_type: "general-purpose",
      duration_ms: null,
      status: "async_launched",
      requests: [request({ t: 0, in: 200, api_time: 60 })],
    },
    {
      t: 30.5,
      type: "subagent",
      agent_id: "fg",
      subagent_type: "Explore",
      duration_ms: 20000,
      status: "completed",
      requests: [
        request({ t: 0, in: 100, api_time: 4 }),
        request({ t: 6, in: 300, api_time: 12, think_time: 2 }),
      ],
    },
    request({ t: 33, in: 192, api_time: 2, think_time: 23 }),
    request({ t: 40, in: 128, api_time: 1, think_time: 5 }),
  ]);

  it("forks at the marker's time less its duration and joins without counting its wall time twice", async () => {
    const trace = await read(forked);
    expect(links(trace)).toEqual({
      "s/0": [[], null],
      "s/fg/0": [["s/0"], 500], // 30.5 − 20 = 10.5 s; the parent had ended at 10 s
      "s/fg/1": [["s/fg/0"], 2000], // 16.5 − 14.5
      "s/bg/0": [["s/0"], 750],
      "s/1": [["s/0", "s/fg/1"], 4500], // 33 − 28.5, not the recorded 23 s, and nobody waits for bg
      "s/2": [["s/1"], 5000], // 40 − 35
    });
    expect(trace.requests.map((row) => [row.request_id, row.arrival_ms])).toEqual([
      ["s/0", 0],
      ["s/fg/0", 10_500],
      ["s/bg/0", 10_750],
      ["s/fg/1", 16_500],
      ["s/1", 33_000],
      ["s/2", 40_000],
    ]);
    expect(trace.rows).toEqual({ read: 8, used: 6, skipped: { "sub-agent marker": 2 }, refused: 0 });
  });

  it("replays the recorded instants when the server answers as fast as it did then", async () => {
    const trace = await read(forked);
    const [job] = resolveJobs(trace.requests);
    const ends: number[] = [];
    for (const { request, parents, think_ms } of job?.turns ?? []) {
      const start =
        parents.length === 0 ? 0 : Math.max(...parents.map((at) => ends[at] ?? NaN)) + (think_ms ?? NaN);
      expect(start).toBeCloseTo(request.arrival_ms ?? NaN, 6);
      const { sent_ms, end_ms } = request.recorded ?? { sent_ms: null, end_ms: null };
      ends.push(start + ((end_ms ?? NaN) - (sent_ms ?? NaN)));
    }
    expect(ends).toHaveLength(6);
  });

  it("joins parallel and nested sub-agents", async () => {
    const trace = await read(
      session([
        request({ t: 0, in: 64, api_time: 5 }),
        // spawned at 6 s; its own sub-agent at 9 s (its first request ended at 8 s), 4 s long
        {
          t: 20,
          type: "subagent",
          agent_id: "a",
          subagent_type: "Plan",
          duration_ms: 14000,
          status: "completed",
          requests: [
            request({ t: 0, in: 64, api_time: 2 }),
            {
              t: 7,
              type: "subagent",
              agent_id: "inner",
              subagent_type: "Explore",
              duration_ms: 4000,
              status: "completed",
              requests: [request({ t: 0, in: 64, api_time: 3 })],
            },
            request({ t: 9, in: 128, api_time: 4 }),
          ],
        },
        {
          t: 25,
          type: "subagent",
          agent_id: "b",
          duration_ms: 19000,
          status: "completed",
          requests: [request({ t: 0, in: 64, api_time: 18 })],
        },
        request({ t: 30, in: 64, api_time: 1 }),
      ]),
    );
    expect(links(trace)).toEqual({
      "s/0": [[], null],
      "s/a/0": [["s/0"], 1000],
      "s/b/0": [["s/0"], 1000],
      "s/a/inner/0": [["s/a/0"], 1000],
      "s/a/1": [["s/a/0", "s/a/inner/0"], 3000], // 15 − 12
      "s/1": [["s/0", "s/a/1", "s/b/0"], 6000], // 30 − 24 (b), a had ended at 19 s
    });
  });

  it("takes an overlap for no think time, and a sub-agent without requests for a tool", async () => {
    const trace = await read(
      session([
        request({ t: 0, in: 64, api_time: 3.4 }),
        request({ t: 3, in: 64, api_time: 1 }),
        {
          t: 8,
          type: "subagent",
          agent_id: "a",
          subagent_type: "Explore",
          duration_ms: 3500,
          status: "completed",
          requests: [],
        },
        request({ t: 9, in: 64, api_time: 1, think_time: 5 }),
      ]),
    );
    expect(links(trace)).toEqual({ "s/0": [[], null], "s/1": [["s/0"], 0], "s/2": [["s/1"], 5000] });
    expect(trace.requests.at(2)?.tool).toEqual([{ name: "Explore", ms: 3500 }]);
  });

  it("never puts a request before one it waited for, though instants are rounded to seconds", async () => {
    const trace = await read(
      session([
        request({ t: 0, in: 64, api_time: 1 }),
        {
          t: 10.9,
          type: "subagent",
          agent_id: "a",
          duration_ms: 9500,
          status: "completed",
          requests: [request({ t: 0, in: 64, api_time: 1 }), request({ t: 9, in: 64, api_time: 0.3 })],
        },
        request({ t: 10, in: 64, api_time: 1 }),
      ]),
    );
    expect(links(trace)["s/1"]).toEqual([["s/0", "s/a/1"], 0]);
  });
});

describe("weka times and blocks", () => {
  it("does not know the think time after a request without api_time, and says so", async () => {
    // think_time is counted from the last request that tells its end: 7 s from 2 s, not from 6 s.
    const trace = await read(
      session([
        request({ t: 0, in: 64, api_time: 2 }),
        request({ t: 6, in: 64, think_time: 4 }),
        request({ t: 9, in: 64, api_time: 1, think_time: 7 }),
      ]),
    );
    expect(links(trace)).toEqual({ "s/0": [[], null], "s/1": [["s/0"], 4000], "s/2": [["s/1"], null] });
    expect(trace.notes.join()).toContain("1 requests follow one without api_time");
  });

  it("keeps block ids apart by file, shared with the file's sub-agents", async () => {
    const sub = {
      t: 9,
      type: "subagent",
      agent_id: "a",
      duration_ms: 3000,
      status: "completed",
      requests: [request({ t: 0, in: 64 })],
    };
    const trace = await read(session([request({ t: 0, in: 130 }), sub]));
    expect(trace.requests.map(({ prompt }) => prompt)).toEqual([
      { kind: "length", tokens: 130, hash_ids: [0, 1], block_tokens: 64, hash_scope: "s.json" },
      { kind: "length", tokens: 64, hash_ids: [0], block_tokens: 64, hash_scope: "s.json" },
    ]);
  });

  it("reads a folder: all sessions start at 0, an exact duplicate is named, gz is undone", async () => {
    const path = mkdtempSync(join(folder, "many-"));
    writeFileSync(join(path, "a.json"), session([request({ t: 0, in: 64 })], "one"));
    writeFileSync(join(path, "b.json"), `\ufeff${session([request({ t: 0, in: 64 })], "two")}`);
    writeFileSync(
      join(path, "c.json.gz"),
      gzipSync(session([request({ t: 0, in: 65 }), request({ t: 5, in: 70 })], "one")),
    );
    writeFileSync(join(path, "notes.txt"), "not a session");
    writeFileSync(join(path, "manifest.json"), '{"files":3}');
    const trace = await weka.read(path, { skipBad: false });
    expect(
      trace.requests.map(({ job_id, arrival_ms, prompt }) => [
        job_id,
        arrival_ms,
        prompt.kind === "length" && prompt.hash_scope,
      ]),
    ).toEqual([
      ["one", 0, "a.json"],
      ["two", 0, "b.json"],
      ["c", 0, "c.json.gz"],
      ["c", 5000, "c.json.gz"],
    ]);
    expect(trace.notes[0]).toMatch(/^1 files hold the same session as another: b\.json = a\.json;/);
    expect(trace.rows).toEqual({ read: 5, used: 4, skipped: { "file that is no session": 1 }, refused: 0 });
    expect(trace.notes.join()).toContain("laid out to start at 0");
  });
});

describe("weka bad input", () => {
  it("refuses by place in the document, or counts with skipBad", async () => {
    const text = session([
      request({ t: 0, in: 64 }),
      { ...request({ t: 1, in: 640 }), hash_ids: ids(704) },
      request({ t: 2, in: 0 }),
      request({ t: -1, in: 64 }),
      7,
      { ...request({ t: 3, in: 64 }), extra: "ignored" },
    ]);
    await expect(read(text)).rejects.toThrow(
      /s\.json: requests\[1\]: 11 hash_ids for 640 tokens in blocks of 64: 10 expected/,
    );
    const trace = await read(text, true);
    expect(trace.rows).toEqual({ read: 6, used: 2, skipped: {}, refused: 4 });
    expect(trace.faults.map(({ line, reason }) => [line, reason.split(":")[0]])).toEqual([
      [null, "requests[1]"],
      [null, "requests[2]"],
      [null, "requests[3]"],
      [null, "requests[4]"],
    ]);
  });

  it("names the line where a document is cut", async () => {
    await expect(read('{"id":"s",\n"requests":[{"t":0,')).rejects.toThrow(/s\.json:2: not valid JSON/);
    await expect(read("")).rejects.toThrow(/s\.json:1: not valid JSON/);
    await expect(read("[]")).rejects.toThrow(/not a session/);
  });
});
