/** Our own format: fields, header, and every kind of bad row (case 28). */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readTrace, type TraceOptions } from "../reader.ts";
import type { Trace } from "../trace.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-own-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const BASE = { request_id: "a", job_id: "j", arrival_ms: 0, prompt: "x", max_tokens: 3 };
function read(rows: readonly unknown[], options: TraceOptions = {}): Promise<Trace> {
  const path = join(folder, `t${files++}`);
  writeFileSync(path, rows.map((row) => (typeof row === "string" ? row : JSON.stringify(row))).join("\n"));
  return readTrace(path, { format: "reprise", ...options });
}

describe("rows", () => {
  it("the plan's format (COMPAT C) reads unchanged; extra columns are ignored", async () => {
    const trace = await read([{ ...BASE, turn: 0, temperature: 0, metadata: { k: 1 }, colour: "red" }]);
    expect(trace.requests.at(0)).toMatchObject({
      request_id: "a",
      turn: 0,
      max_tokens: 3,
      temperature: 0,
      prompt: { kind: "text", text: "x" },
    });
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["no id", { request_id: undefined }, '"request_id" is missing (a non-empty string)'],
    ["no job", { job_id: 4 }, '"job_id" must be a non-empty string, not 4'],
    ["no arrival", { arrival_ms: undefined }, '"arrival_ms" is missing (needed unless "after" is given)'],
    ["negative arrival", { arrival_ms: -1 }, '"arrival_ms" must be a number ≥ 0, not -1'],
    ["text arrival", { arrival_ms: "5" }, '"arrival_ms" must be a number ≥ 0, not "5"'],
    ["no cap", { max_tokens: undefined }, '"max_tokens" is missing'],
    ["zero cap", { max_tokens: 0 }, '"max_tokens" must be an integer ≥ 1, not 0'],
    ["fraction of a token", { max_tokens: 2.5 }, '"max_tokens" must be an integer ≥ 1, not 2.5'],
    ["no prompt", { prompt: undefined }, "a prompt is missing"],
    ["empty prompt", { prompt: "" }, '"prompt" must be a non-empty string'],
    ["two prompts", { prompt_tokens: 4 }, "several prompts"],
    ["zero length", { prompt: undefined, prompt_tokens: 0 }, '"prompt_tokens" must be an integer ≥ 1, not 0'],
    ["negative token id", { prompt: undefined, prompt_ids: [1, -2] }, '"prompt_ids" must hold integers ≥ 0'],
    ["no ids", { prompt: undefined, prompt_ids: [] }, "a non-empty array"],
    ["no messages", { prompt: undefined, messages: [] }, "at least one message"],
    ["no role", { prompt: undefined, messages: [{ content: "x" }] }, 'needs a "role"'],
    [
      "ids without blocks",
      { prompt: undefined, prompt_tokens: 10, hash_ids: [1] },
      '"block_tokens" is missing',
    ],
    [
      "too few blocks",
      { prompt: undefined, prompt_tokens: 33, hash_ids: [1], block_tokens: 16 },
      "do not cover 33 prompt tokens",
    ],
    [
      "blocks beside text",
      { hash_ids: [1], block_tokens: 1 },
      '"hash_ids" stands beside "prompt_tokens" only',
    ],
    ["zero budget", { budget_ms: 0 }, '"budget_ms" must be more than 0, not 0'],
    ["negative think time", { think_ms: -3 }, '"think_ms" must be a number ≥ 0, not -3'],
    ["negative turn", { turn: -1 }, '"turn" must be an integer ≥ 0, not -1'],
    ["after itself", { after: ["a"] }, "a cycle: a waits for a"],
    ["unknown parent", { after: ["zz"] }, '"after" names "zz"'],
    ["after no list", { after: "b" }, '"after" must be an array of request ids'],
    ["ends before it is sent", { recorded: { sent_ms: 5, end_ms: 4 } }, "before it is sent"],
    [
      "negative output",
      { recorded: { output_tokens: -1 } },
      '"recorded.output_tokens" must be an integer ≥ 0, not -1',
    ],
    ["tool without time", { tool: [{ name: "t" }] }, 'in "tool": "ms" is missing'],
  ])("refuses %s by line, or counts it", async (_, change, message) => {
    const rows = [
      { ...BASE, request_id: "first", job_id: "k" },
      { ...BASE, ...change },
    ];
    const error = await read(rows).catch((caught: unknown) => caught as Error);
    expect(error).toMatchObject({ name: "UserError", exitCode: 2 });
    expect((error as Error).message).toContain(message);
    expect((error as Error).message).toMatch(/:2: /);
    const trace = await read(rows, { skipBad: true });
    expect(trace.rows).toEqual({ read: 2, used: 1, skipped: {}, refused: 1 });
    expect(trace.faults).toHaveLength(1);
  });

  it("a duplicate id is a bad row, and what waits for a refused row goes with it", async () => {
    await expect(read([BASE, BASE])).rejects.toThrow(/:2: request_id "a" occurred before/);
    const rows = [
      { ...BASE, request_id: "bad", max_tokens: 0 },
      { ...BASE, request_id: "b", after: ["bad"] },
      { ...BASE, request_id: "c", after: ["b"] },
      { ...BASE, request_id: "d", after: [] },
    ];
    const trace = await read(rows, { skipBad: true });
    expect(trace.requests.map(({ request_id }) => request_id)).toEqual(["d"]);
    expect(trace.rows).toEqual({ read: 4, used: 1, skipped: {}, refused: 3 });
    expect(trace.faults.map(({ line }) => line)).toEqual([1, 2, 3]);
  });

  it("names a turn that comes before its parent by line", async () => {
    await expect(
      read([
        { ...BASE, turn: 1, arrival_ms: 10 },
        { ...BASE, request_id: "b", turn: 2, arrival_ms: 9 },
      ]),
    ).rejects.toThrow(/:2: arrives at 9 ms, before its parent "a" \(10 ms\)/);
  });

  it("integers beyond 2^53 survive in block names and in what is passed through", async () => {
    const trace = await read([
      '{"request_id": "a", "job_id": "j", "arrival_ms": 0, "prompt_tokens": 2, "hash_ids": [14879255164371896291, 5], "block_tokens": 1, "max_tokens": null}',
      '{"request_id": "b", "job_id": "j", "arrival_ms": 0, "prompt": "x", "params": {"seed": 14879255164371896291}, "max_tokens": null}',
    ]);
    expect(trace.requests.at(0)?.prompt).toMatchObject({ hash_ids: ["14879255164371896291", 5] });
    expect(trace.requests.at(1)?.params).toEqual({ seed: "14879255164371896291" });
  });
});

describe("header", () => {
  it("its provenance and notes count; a later version is refused; elsewhere it is no header", async () => {
    const head = { reprise_trace: 1, source: "x", provenance: { arrivals: "made up" }, notes: ["n"] };
    const trace = await read([head, BASE]);
    expect(trace.header).toEqual(head);
    expect([trace.provenance.arrivals, trace.notes, trace.rows.skipped]).toEqual([
      "made up",
      ["n"],
      { header: 1 },
    ]);
    await expect(read([{ reprise_trace: 2 }, BASE])).rejects.toThrow(
      /:1: "reprise_trace" is 2; this version reads 1/,
    );
    await expect(read([BASE, head])).rejects.toThrow(/:2: "arrival_ms" is missing/);
  });
});
