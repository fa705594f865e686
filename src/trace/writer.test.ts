/** What is written is read back equal; the rows of other formats read back with the same counts and sharing. */
import * as fc from "fast-check";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { traceOf } from "../../test/support/made-trace.ts";
import { resolveJobs } from "./jobs.ts";
import { inspectTrace } from "./inspect.ts";
import { lengthPrompt, newRequest } from "./new-request.ts";
import { optimalPrefixReuse } from "./prefix.ts";
import { readTrace } from "./reader.ts";
import type { Trace } from "./trace.ts";
import type { TracePrompt, TraceRequest } from "./trace-request.ts";
import { traceLines, writeLines } from "./writer.ts";
import { aiperfRows } from "./writers/aiperf-rows.ts";
import { mooncakeRows } from "./writers/mooncake-rows.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-writer-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
async function reread(lines: Iterable<string>): Promise<Trace> {
  const path = join(folder, `t${files++}.jsonl`);
  await writeLines(path, lines);
  return readTrace(path);
}

const ms = fc
  .double({ min: 0, max: 1e9, noNaN: true, noDefaultInfinity: true })
  .map((value) => (value === 0 ? 0 : value));
const count = fc.integer({ min: 1, max: 100_000 });
const nullable = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.option(arbitrary, { nil: null });
const object = fc.dictionary(
  fc.string({ minLength: 1 }).filter((key) => key !== "__proto__"),
  fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)),
);
const message = fc.record({ role: fc.constantFrom("system", "user", "assistant"), content: fc.string() });
const blockId = fc.oneof(
  fc.nat(),
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n }).map(String),
  fc.string({ minLength: 1 }),
);
const prompt: fc.Arbitrary<TracePrompt> = fc.oneof(
  fc.string({ minLength: 1, unit: "binary" }).map((text) => ({ kind: "text" as const, text })),
  fc.array(fc.nat(), { minLength: 1 }).map((ids) => ({ kind: "ids" as const, ids })),
  fc.record({
    kind: fc.constant("messages" as const),
    messages: fc.array(message, { minLength: 1, maxLength: 4 }),
    tools: nullable(fc.array(object, { maxLength: 2 })),
  }),
  count.map(lengthPrompt),
  fc
    .record({
      ids: fc.array(blockId, { minLength: 1, maxLength: 5 }),
      block: fc.integer({ min: 2, max: 64 }),
      cut: fc.nat(),
      scope: nullable(fc.string()),
    })
    .map(({ ids, block, cut, scope }) => ({
      kind: "length" as const,
      // Between floor and ceil coverage.
      tokens: ids.length * block + (cut % (2 * block - 1)) - (block - 1),
      hash_ids: ids,
      block_tokens: block,
      hash_scope: scope,
    })),
);
const request = fc.record({
  arrival_ms: ms,
  think_ms: nullable(ms),
  tool: nullable(
    fc.array(fc.record({ name: fc.string({ minLength: 1 }), ms }), { minLength: 1, maxLength: 2 }),
  ),
  prompt,
  max_tokens: nullable(count),
  expected_output_tokens: nullable(count),
  temperature: nullable(fc.double({ min: 0, max: 2, noNaN: true }).map((value) => (value === 0 ? 0 : value))),
  params: nullable(object),
  budget_ms: nullable(ms.map((value) => value + 1)),
  agent: nullable(fc.string()),
  recorded: nullable(
    fc
      .record({
        a: ms,
        b: ms,
        first: nullable(ms),
        prompt_tokens: nullable(count),
        output_tokens: nullable(fc.nat()),
        cached_tokens: nullable(fc.nat()),
      })
      .map(({ a, b, first, ...rest }) => ({
        sent_ms: Math.min(a, b),
        first_token_ms: first,
        end_ms: Math.max(a, b),
        ...rest,
      })),
  ),
  response_text: nullable(fc.string()),
  metadata: nullable(object),
});

describe("our format", () => {
  it("read(write(t)) = t", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(request, { minLength: 1, maxLength: 8 }),
        fc.boolean(),
        async (told, chained) => {
          const sorted = told.toSorted((a, b) => a.arrival_ms - b.arrival_ms);
          const requests = sorted.map((row, at) =>
            newRequest({
              ...row,
              request_id: `r${at}`,
              job_id: `job "${at % 2}"\u2028`,
              turn: chained ? null : at,
              after: chained ? (at < 2 ? [] : [`r${at - 2}`]) : null,
            }),
          );
          const trace = traceOf(requests);
          const back = await reread(traceLines(trace));
          expect([...back.requests]).toEqual(requests);
          expect(back.format).toBe("reprise");
          expect(back.provenance).toEqual(trace.provenance);
          expect(back.notes).toEqual(trace.notes);
          const again = await reread(traceLines(back));
          expect([...again.requests]).toEqual(requests);
          expect(again.header).toEqual(back.header);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("the header tells the source by its file name only; Unix times become offsets with their origin", async () => {
    const epoch = 1_700_000_000_000;
    const rows = [0, 250.5].map((at, i) =>
      newRequest({ request_id: `r${i}`, job_id: `r${i}`, arrival_ms: epoch + at, prompt: lengthPrompt(5) }),
    );
    const lines = [...traceLines(traceOf(rows))];
    const header = JSON.parse(lines[0] as string) as Record<string, unknown>;
    expect(header["source"]).toEqual({ format: "mooncake", file: "file.jsonl" });
    expect(header["epoch_ms"]).toBe(epoch);
    expect(lines.join("\n")).not.toContain("somewhere");
    expect((await reread(lines)).requests.map(({ arrival_ms }) => arrival_ms)).toEqual([0, 250.5]);
  });

  it("rows without arrival or parents get their parents spelled out", async () => {
    const rows = [1, 2, 2, 3].map((turn, i) =>
      newRequest({ request_id: `r${i}`, job_id: "j", turn, prompt: lengthPrompt(5) }),
    );
    const back = await reread(traceLines(traceOf(rows)));
    expect(back.requests.map(({ after }) => after)).toEqual([[], ["r0"], ["r0"], ["r1", "r2"]]);
    expect(
      resolveJobs(back.requests)
        .at(0)
        ?.turns.map(({ parents }) => parents),
    ).toEqual([[], [0], [0], [1, 2]]);
  });

  it("never overwrites", async () => {
    const path = join(folder, "there.jsonl");
    writeFileSync(path, "mine");
    await expect(writeLines(path, ["x"])).rejects.toThrow("the file exists");
    expect(readFileSync(path, "utf8")).toBe("mine");
    await expect(writeLines(join(folder, "no", "such.jsonl"), ["x"])).rejects.toMatchObject({ exitCode: 2 });
  });
});

describe("Mooncake rows", () => {
  it("Mooncake in, Mooncake out: the same rows", async () => {
    const rows = [
      { timestamp: 0, input_length: 1025, output_length: 3, hash_ids: [0, 1, 2] },
      { timestamp: 27, input_length: 512, output_length: 9, hash_ids: [0] },
    ];
    const path = join(folder, "m.jsonl");
    writeFileSync(path, rows.map((row) => JSON.stringify(row)).join("\n"));
    expect(mooncakeRows(await readTrace(path)).lines.map((line) => JSON.parse(line) as unknown)).toEqual(
      rows,
    );
  });

  it("finer blocks of any scope become 512-token blocks with the sharing that whole blocks have", async () => {
    const ids = (from: number, n: number): number[] => Array.from({ length: n }, (_, i) => from + i);
    const length = (tokens: number, hash_ids: number[], scope: string | null): TracePrompt => ({
      kind: "length",
      tokens,
      hash_ids,
      block_tokens: 64,
      hash_scope: scope,
    });
    const at = (prompt: TracePrompt, i: number): TraceRequest =>
      newRequest({ request_id: `r${i}`, job_id: `r${i}`, arrival_ms: i, prompt, expected_output_tokens: 7 });
    const requests = [
      at(length(1100, ids(0, 17), "a"), 0), // 2 whole, 1 cut
      at(length(1100, [...ids(0, 12), 99, ...ids(13, 4)], "a"), 1), // shares the first only
      at(length(1088, ids(0, 17), "a"), 2), // shares all of its first two; its third ends earlier
      at(length(1100, ids(0, 17), "b"), 3), // another scope: shares nothing
    ];
    const { lines, notes } = mooncakeRows(traceOf(requests));
    expect(lines.map((line) => (JSON.parse(line) as { hash_ids: number[] }).hash_ids.length)).toEqual([
      3, 3, 3, 3,
    ]);
    const back = await reread(lines);
    const reuse = optimalPrefixReuse(resolveJobs(back.requests));
    expect(back.format).toBe("mooncake");
    expect(reuse.shared.at(1).cached_tokens).toBe(512);
    expect(reuse.shared.at(2).cached_tokens).toBe(1024);
    expect(reuse.shared.at(3).cached_tokens).toBe(0);
    expect(notes).toEqual([
      "sharing is kept in whole blocks of 512 tokens; the source tells it in blocks of 64",
    ]);
  });

  it("says what is lost, and refuses a trace that has nothing to write", () => {
    const text = newRequest({
      request_id: "a",
      job_id: "j",
      arrival_ms: 0,
      prompt: { kind: "text", text: "x" },
    });
    expect(() => mooncakeRows(traceOf([text]))).toThrow("no request has the arrival and the lengths");
    const two = [
      newRequest({
        request_id: "b",
        job_id: "j",
        arrival_ms: 5,
        prompt: lengthPrompt(4),
        expected_output_tokens: 1,
      }),
      newRequest({
        request_id: "c",
        job_id: "j",
        after: ["b"],
        prompt: lengthPrompt(4),
        expected_output_tokens: 1,
      }),
    ];
    const { lines, notes } = mooncakeRows(traceOf([text, ...two]));
    expect(lines).toEqual(['{"timestamp":5,"input_length":4,"output_length":1,"hash_ids":[0]}']);
    expect(notes).toEqual([
      "jobs, order and think times cannot be written as Mooncake rows",
      "prompts with text are written as bare lengths; --anonymize makes blocks of them",
      "1 requests without an arrival are left out",
      "1 requests without a prompt or an output length are left out",
      "1 prompts get blocks of their own, since nothing tells what they share",
    ]);
  });
});

describe("AIPerf rows", () => {
  it("a job becomes a session of deltas that reads back with equal prompts, outputs, think times and sharing", async () => {
    const block = (tokens: number, n: number): TracePrompt => ({
      kind: "length",
      tokens,
      hash_ids: Array.from({ length: n }, (_, i) => i),
      block_tokens: 512,
      hash_scope: null,
    });
    const requests = [
      newRequest({
        request_id: "a",
        job_id: "s",
        turn: 1,
        arrival_ms: 100,
        prompt: block(1000, 2),
        expected_output_tokens: 50,
      }),
      newRequest({
        request_id: "b",
        job_id: "s",
        turn: 2,
        think_ms: 30,
        prompt: lengthPrompt(1200),
        expected_output_tokens: 60,
      }),
      newRequest({
        request_id: "c",
        job_id: "s",
        turn: 3,
        think_ms: 40,
        prompt: lengthPrompt(1300),
        expected_output_tokens: 70,
      }),
      newRequest({
        request_id: "d",
        job_id: "t",
        arrival_ms: 350,
        prompt: block(1000, 2),
        expected_output_tokens: 5,
      }),
    ];
    const { lines, notes } = aiperfRows(traceOf(requests));
    expect(notes).toEqual([]);
    const rows = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(rows.map(({ input_length, timestamp, delay }) => [input_length, timestamp, delay])).toEqual([
      [1000, 0, undefined],
      [150, undefined, 30],
      [40, undefined, 40],
      [1000, 250, undefined],
    ]);
    const found = inspectTrace(await reread(lines));
    expect([found.format, found.jobs, found.turns]).toEqual(["aiperf", 2, 4]);
    expect(found.prompt_tokens).toBe(1000 + 1200 + 1300 + 1000);
    expect(found.output_tokens).toBe(185);
    // d shares the whole 64-token blocks of the first prompt: 15 × 64.
    expect(found.prefix.overall.cached_tokens).toBe(960 + 960 + 1152);
  });

  it("a prompt that shrinks starts a session of its own, and branches are told", () => {
    const requests = [
      newRequest({
        request_id: "a",
        job_id: "s",
        after: [],
        arrival_ms: 0,
        prompt: lengthPrompt(1000),
        expected_output_tokens: 50,
      }),
      newRequest({
        request_id: "b",
        job_id: "s",
        after: ["a"],
        prompt: lengthPrompt(400),
        expected_output_tokens: 60,
      }),
      newRequest({
        request_id: "c",
        job_id: "s",
        after: ["a"],
        prompt: lengthPrompt(2000),
        expected_output_tokens: 60,
      }),
    ];
    const { lines, notes } = aiperfRows(traceOf(requests));
    expect(lines.map((line) => (JSON.parse(line) as { session_id: string }).session_id)).toEqual([
      "s",
      "s~2",
      "s",
    ]);
    expect(notes).toEqual([
      "1 jobs have branches: each is a session, and nobody waits for several",
      "1 turns of unknown think time and arrival get delay 0",
      "1 turns do not continue a prompt before them; each starts a session of its own",
      "1 of those have no arrival and start at once",
    ]);
  });
});
