/** What rows of other tools can say of prompts: integer names, blocks of 512, whole milliseconds; and what is told as lost. */
import { describe, expect, it } from "vitest";
import { traceOf } from "../../../test/support/made-trace.ts";
import { lengthPrompt, newRecorded, newRequest } from "../new-request.ts";
import type { TracePrompt, TraceRequest } from "../trace-request.ts";
import { aiperfRows } from "./aiperf-rows.ts";
import { mooncakeRows } from "./mooncake-rows.ts";

describe("rows of other tools", () => {
  it("names that are no plain integers are numbered, token ids become blocks, fractions of a ms are told", () => {
    const at = (prompt: TracePrompt, arrival_ms: number): TraceRequest =>
      newRequest({
        request_id: `r${arrival_ms}`,
        job_id: `r${arrival_ms}`,
        arrival_ms,
        prompt,
        expected_output_tokens: 7,
      });
    const keyed = (...hash_ids: string[]): TracePrompt => ({
      kind: "length",
      tokens: 600,
      hash_ids,
      block_tokens: 512,
      hash_scope: null,
    });
    const rowsOf = (...requests: TraceRequest[]): unknown[] =>
      mooncakeRows(traceOf(requests)).lines.map(
        (line) => (JSON.parse(line) as { hash_ids: unknown }).hash_ids,
      );
    expect(rowsOf(at(keyed("9f", "18446744073709551615"), 0), at(keyed("9f", "x"), 1))).toEqual([
      [0, 1],
      [0, 2],
    ]);
    const ids = (last: number): TracePrompt => ({ kind: "ids", ids: [...Array(600).keys(), last] });
    expect(rowsOf(at(ids(1), 0), at(ids(2), 1), at(ids(1), 2))).toEqual([
      [0, 1],
      [0, 2],
      [0, 1],
    ]);
    expect(mooncakeRows(traceOf([at(ids(1), 0.5), at(lengthPrompt(3), 2)])).notes).toEqual([
      "arrivals are rounded to whole milliseconds",
      "sharing is kept in whole blocks of 512 tokens; the source tells it token by token",
      "1 prompts get blocks of their own, since nothing tells what they share",
    ]);
  });

  it("blocks cover the recorded length, where the text has another", () => {
    const request = newRequest({
      request_id: "a",
      job_id: "a",
      arrival_ms: 0,
      prompt: { kind: "length", tokens: 1024, hash_ids: [7, 8], block_tokens: 512, hash_scope: null },
      recorded: newRecorded({ prompt_tokens: 1600, output_tokens: 2 }),
    });
    for (const rows of [mooncakeRows, aiperfRows]) {
      const [line = ""] = rows(traceOf([request])).lines;
      expect(JSON.parse(line)).toMatchObject({ input_length: 1600, hash_ids: [0, 1, 2, 3] });
    }
  });

  it("AIPerf: a longer prompt that does not begin with the one before is no continuation of it", () => {
    const turn = (id: string, tokens: number, hash_ids: number[]): TraceRequest =>
      newRequest({
        request_id: id,
        job_id: "j",
        turn: Number(id),
        arrival_ms: 10 * Number(id),
        think_ms: 1,
        prompt: { kind: "length", tokens, hash_ids, block_tokens: 512, hash_scope: null },
        expected_output_tokens: 100,
      });
    const { lines, notes } = aiperfRows(
      traceOf([turn("1", 600, [0, 1]), turn("2", 1300, [0, 2, 3]), turn("3", 2000, [0, 2, 4, 5])]),
    );
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { session_id: "j", output_length: 100, input_length: 600, hash_ids: [0, 1], timestamp: 0 },
      { session_id: "j", output_length: 100, input_length: 600, delay: 1 },
      { session_id: "j", output_length: 100, input_length: 600, delay: 1 },
    ]);
    expect(notes).toEqual([]);
    const other = aiperfRows(traceOf([turn("1", 1100, [0, 1, 2]), turn("2", 1300, [0, 3, 4])]));
    expect(other.lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { session_id: "j", output_length: 100, input_length: 1100, hash_ids: [0, 1, 2], timestamp: 0 },
      { session_id: "j~2", output_length: 100, input_length: 1300, hash_ids: [0, 3, 4], timestamp: 10 },
    ]);
    expect(other.notes).toEqual([
      "1 turns do not continue a prompt before them; each starts a session of its own",
    ]);
  });

  it("AIPerf: a later turn of unknown think time keeps its arrival", () => {
    const turn = (id: number): TraceRequest =>
      newRequest({
        request_id: `r${id}`,
        job_id: "j",
        turn: id,
        arrival_ms: 100 * id,
        prompt: { kind: "text", text: "x".repeat(id) },
      });
    const { lines, notes } = aiperfRows(traceOf([turn(1), turn(2)]));
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { session_id: "j", timestamp: 0 },
      { session_id: "j", timestamp: 100 },
    ]);
    expect(notes).toEqual([]);
  });

  it("AIPerf: branches are sessions of their own, and a join goes on with the conversation it continues", () => {
    const turn = (
      id: string,
      after: string[],
      tokens: number,
      hash_ids: number[],
      at: number,
    ): TraceRequest =>
      newRequest({
        request_id: id,
        job_id: "j",
        after,
        arrival_ms: at,
        think_ms: at,
        prompt: { kind: "length", tokens, hash_ids, block_tokens: 512, hash_scope: null },
        expected_output_tokens: 10,
      });
    const { lines } = aiperfRows(
      traceOf([
        turn("main", [], 600, [0, 1], 0),
        turn("sub", ["main"], 700, [8, 9], 5),
        turn("sub2", ["sub"], 1300, [8, 10, 11], 6),
        turn("join", ["main", "sub2"], 1500, [0, 2, 3], 9),
      ]),
    );
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { session_id: "j", input_length: 600, timestamp: 0 },
      { session_id: "j~2", input_length: 700, timestamp: 5 },
      { session_id: "j~2", input_length: 590, delay: 6 },
      { session_id: "j", input_length: 890, delay: 9 },
    ]);
  });
});
