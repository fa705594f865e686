/** The traps of each arrival format, by hand: units, zones, counts, failures, chains; and bad rows by line. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { inspectTrace } from "../inspect.ts";
import { resolveJobs } from "../jobs.ts";
import { readTrace, type TraceOptions } from "../reader.ts";
import type { Trace } from "../trace.ts";
import { parseTimestamp } from "./azure.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-formats-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
function write(text: string): string {
  const path = join(folder, `t${files++}`);
  writeFileSync(path, text);
  return path;
}
function read(text: string, options: TraceOptions = {}): Promise<Trace> {
  return readTrace(write(text), options);
}
function arrivals(trace: Trace): (number | null)[] {
  return trace.requests.map(({ arrival_ms }) => arrival_ms);
}

describe("seed-a", () => {
  it("queries of an entry start together, each a job of its own", async () => {
    const trace = await read(
      '{"timestamp": 5, "queries": [{"prompt_length": 3, "response_length": 4}, {"prompt_length": 5, "response_length": 6}]}\n',
    );
    const found = inspectTrace(trace);
    expect([
      found.format,
      found.jobs,
      found.turns,
      found.prompt_tokens,
      found.output_tokens,
      found.span_ms,
    ]).toEqual(["seed-a", 2, 2, 8, 10, 0]);
    expect(trace.rows).toEqual({ read: 1, used: 1, skipped: {}, refused: 0 });
  });
});

describe("mooncake", () => {
  const row = (length: number, ids: unknown[], more = ""): string =>
    `{"timestamp": 1, "input_length": ${length}, "output_length": 2, "hash_ids": ${JSON.stringify(ids)}${more}}\n`;
  it("needs ceil(input ÷ 512) ids; floor is a bad row; extra columns are ignored", async () => {
    await expect(read(row(1025, [1, 2, 3], ', "extra": 1'))).resolves.toMatchObject({ format: "mooncake" });
    await expect(read(row(512, [1]) + row(1025, [1, 2]))).rejects.toThrow(
      /:2: 2 hash_ids for 1025 tokens; .* = 3$/,
    );
    await expect(read(row(512, [1]) + row(1024, [1, 2, 3]))).rejects.toThrow(/:2: /);
  });
  it("rows in one JSON array are told as such", async () => {
    await expect(read('[{"timestamp": 0, "input_length": 17, "output_length": 2}]')).rejects.toThrow(
      "the nearest is mooncake, but its rows stand in one JSON array, not one a line",
    );
  });
  it("16-token blocks are timed_trace; seconds by the time unit", async () => {
    const text = row(33, [1, 2, 3]) + row(16, [1]);
    expect((await read(text)).format).toBe("timed_trace");
    const seconds = await read(
      '{"timestamp": 0.5, "input_length": 16, "output_length": 2, "hash_ids": [1]}\n',
      { format: "timed_trace", timeUnitMs: 1000 },
    );
    expect(arrivals(seconds)).toEqual([500]);
    expect((await read(row(33, [1, 2]), { format: "mooncake", blockTokens: 32 })).requests.length).toBe(1);
  });
  it.each([
    ['"input_length": 0', /:1: "input_length" must be an integer ≥ 1, not 0/],
    ['"input_length": -5', /not -5/],
    ['"input_length": 1.5', /not 1.5/],
    ['"input_length": "7"', /not "7"/],
  ])("refuses %s", async (field, message) => {
    await expect(read(`{"timestamp": 1, ${field}, "output_length": 2, "hash_ids": [1]}`)).rejects.toThrow(
      message,
    );
  });
});

describe("azure", () => {
  it("2023: seven digits, no zone, CRLF, no last newline; exact to 0.1 µs", async () => {
    const trace = await read(
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,4808,10\r\n2023-11-16 18:17:04.0319601,3180,8",
    );
    expect(arrivals(trace)[0]).toBeCloseTo(979.96, 9);
    expect((arrivals(trace)[1] as number) - (arrivals(trace)[0] as number)).toBeCloseTo(52.0001, 9);
    expect(trace.header).toEqual({ epoch_ms: Date.UTC(2023, 10, 16, 18, 17, 3) });
    expect(trace.notes).toEqual(["timestamps without a zone are read as UTC"]);
  });
  it("columns in any order and case; one that stands twice is refused", async () => {
    const trace = await read("generatedtokens,timestamp,contexttokens\n5,2024-05-10 00:00:00,2162\n");
    expect(trace.format).toBe("azure");
    expect(inspectTrace(trace)).toMatchObject({ prompt_tokens: 2162, output_tokens: 5 });
    await expect(
      read("TIMESTAMP,ContextTokens,GeneratedTokens,ContextTokens\n2024-05-10 00:00:00,2162,5,1\n"),
    ).rejects.toThrow(':1: two columns are called "ContextTokens"');
  });
  it("guesses no format from one common name", async () => {
    await expect(read("request_id,arrival_timestamp,prompt_size,token_size\n0,1,4096,32\n")).rejects.toThrow(
      "its keys (request_id, arrival_timestamp, prompt_size, token_size) are those of none",
    );
  });
  it("says that columns are parted by something else than commas", async () => {
    for (const [mark, name] of [
      [";", "semicolons"],
      ["\t", "tabs"],
    ] as const)
      await expect(read(["TIMESTAMP", "ContextTokens", "GeneratedTokens"].join(mark) + "\n")).rejects.toThrow(
        `its columns are parted by ${name}, not by commas`,
      );
  });
  it("2024: zone and 0–6 digits; 2025: NumImages in between, columns by name", async () => {
    const trace = await read(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,2162,5\n2024-05-10 01:00:00+01:00,2399,6\n",
    );
    expect(arrivals(trace)).toEqual([9.93, 0]);
    const images = await read(
      "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2025-01-01 00:00:00,3,10,5\n",
    );
    expect(images.requests.at(0)).toMatchObject({ prompt: { tokens: 10 }, metadata: { num_images: 3 } });
  });
  it("refuses what is no time, zero and negative counts, by line", async () => {
    const head = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
    await expect(read(`${head}2023-02-30 00:00:00,1,1\n`)).rejects.toThrow(/:2: "TIMESTAMP" is no time/);
    await expect(read(`${head}2023-02-20 00:00:00,0,1\n`)).rejects.toThrow(
      /:2: "ContextTokens" must be a number ≥ 1/,
    );
    const trace = await read(
      `${head}2023-02-20 00:00:00,1,1\n2023-02-20 00:00:00,-1,1\n2023-02-20 00:00:00,,1\nx\n`,
      { skipBad: true },
    );
    expect(trace.rows).toEqual({ read: 4, used: 1, skipped: {}, refused: 3 });
    expect(trace.faults.map(({ line }) => line)).toEqual([3, 4, 5]);
    expect(parseTimestamp("2024-02-29T00:00:00Z").seconds).toBe(Date.UTC(2024, 1, 29) / 1000);
  });
});

describe("burstgpt", () => {
  it("seconds; 0 response tokens is a recorded failure; v3 sessions with elapsed time", async () => {
    const trace = await read(
      'Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n10.5,s,2,"GPT, 4",9,4,13,API log\n20,s,1,ChatGPT,9,0,9,API log\n15,s,1,ChatGPT,20,5,25,Conversation log\n',
    );
    expect(trace.rows).toEqual({
      read: 3,
      used: 2,
      skipped: { "failed when recorded (0 response tokens)": 1 },
      refused: 0,
    });
    const [job] = resolveJobs(trace.requests);
    expect(job?.turns.map(({ think_ms }) => think_ms)).toEqual([null, 2500]);
    expect(inspectTrace(trace).models).toEqual({ ChatGPT: 1, "GPT, 4": 1 });
  });
});

describe("bailian", () => {
  const chat = (id: number, parent: number, at: number, more = ""): string =>
    `{"chat_id": ${id}, "parent_chat_id": ${parent}, "timestamp": ${at}, "input_length": 33, "output_length": 1, "type": "text", "turn": 1${more}}\n`;
  it("seconds; chains and branches of chats are one job; a parent outside the file starts a job", async () => {
    const trace = await read(
      chat(3, 2, 2.5) + chat(1, -1, 1) + chat(2, 1, 2) + chat(4, 2, 2.25) + chat(9, 77, 0),
    );
    expect(arrivals(trace)).toEqual([2500, 1000, 2000, 2250, 0]);
    expect(trace.requests.map(({ job_id }) => job_id)).toEqual(["1", "1", "1", "1", "9"]);
    expect(trace.notes).toHaveLength(1);
    expect(
      resolveJobs(trace.requests)
        .at(1)
        ?.turns.map(({ request }) => request.request_id),
    ).toEqual(["1", "2", "4", "3"]);
  });
  it("a chat before its parent is a bad row; what follows it starts a job", async () => {
    const text = chat(2, 1, 1) + chat(1, -1, 2) + chat(3, 2, 3);
    await expect(read(text)).rejects.toThrow(/:1: chat 2 is at 1000 ms, before its parent 1 \(2000 ms\)$/);
    const trace = await read(text, { skipBad: true });
    expect([...trace.requests].map(({ request_id, job_id, after }) => [request_id, job_id, after])).toEqual([
      ["1", "1", []],
      ["3", "3", []],
    ]);
    expect(trace.rows).toEqual({ read: 3, used: 2, skipped: {}, refused: 1 });
  });
  it("16-token blocks by ceil or floor; a cycle of parents is one line", async () => {
    await expect(read(chat(1, -1, 0, ', "hash_ids": [5]'))).rejects.toThrow(/need ceil\(33\/16\) = 3/);
    const cycle = await read(chat(1, 2, 0) + chat(2, 1, 0));
    expect(() => inspectTrace(cycle)).toThrow(/a cycle: /);
    await expect(read(chat(1, 1, 0))).rejects.toThrow("chat 1 is its own parent");
  });
});

describe("vidur, llmservingsim, lmcache", () => {
  it("vidur: seconds; a trace of lengths has no arrivals", async () => {
    expect(arrivals(await read("arrived_at,num_prefill_tokens,num_decode_tokens\n0.052,3,1\n"))).toEqual([
      52,
    ]);
    await expect(read("arrived_at,num_prefill_tokens,num_decode_tokens\n,3,1\n")).rejects.toThrow(
      ':2: "arrived_at" is empty',
    );
    const lengths = await read(
      "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n3772,54,3826,69.85\n",
    );
    expect([lengths.format, arrivals(lengths), lengths.provenance.arrivals]).toEqual([
      "vidur",
      [null],
      "missing",
    ]);
  });
  it("llmservingsim: ns, ids of the told length, agentic sessions with tool time", async () => {
    const trace = await read(
      '{"input_toks": 2, "output_toks": 3, "arrival_time_ns": 1500000, "input_tok_ids": [7, 8]}\n' +
        '{"session_id": "s", "arrival_time_ns": 2000000, "sub_requests": [{"input_toks": 5, "output_toks": 1, "tool_duration_ns": 3000000}, {"input_toks": 9, "output_toks": 2}]}\n',
    );
    expect(trace.requests.map(({ arrival_ms, think_ms }) => [arrival_ms, think_ms])).toEqual([
      [1.5, null],
      [2, null],
      [null, 3],
    ]);
    expect(trace.requests.at(0)?.prompt).toEqual({ kind: "ids", ids: [7, 8] });
    expect(inspectTrace(trace)).toMatchObject({ jobs: 2, turns: 3, prompt_tokens: 16, output_tokens: 6 });
    await expect(
      read('{"input_toks": 3, "output_toks": 3, "arrival_time_ns": 1, "input_tok_ids": [7, 8]}\n'),
    ).rejects.toThrow("2 input_tok_ids, but input_toks is 3");
  });
  it("lmcache: µs beyond what a double of ms could tell, unsorted; turns by arrival", async () => {
    const row = (at: string, text: string): string =>
      `{"timestamp": ${at}, "input": "${text}", "output": "", "session_id": "s"}\n`;
    const trace = await read(row("1760587779519311", "b") + row("1760587779332029", "a"));
    expect(
      resolveJobs(trace.requests)
        .at(0)
        ?.turns.map(({ request }) => request.prompt),
    ).toEqual([
      { kind: "text", text: "a" },
      { kind: "text", text: "b" },
    ]);
    expect(inspectTrace(trace).span_ms).toBeCloseTo(187.282, 9);
    const blank = await read(row("1760587779519311", "") + row("1760587779519312", "c"));
    expect(blank.rows).toEqual({ read: 2, used: 1, skipped: { "no input in the log": 1 }, refused: 0 });
  });
});
