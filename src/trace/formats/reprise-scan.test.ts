/** The fast path takes a row only where the ordinary way would, and to the same effect. */
import * as fc from "fast-check";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { resolveJobs } from "../jobs.ts";
import { readTrace } from "../reader.ts";
import type { Trace } from "../trace.ts";
import { TraceTable } from "../trace-table.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-scan-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

async function read(lines: readonly string[]): Promise<Trace> {
  const path = join(folder, `t${files++}`);
  // A last good row keeps a trace of bad rows from being empty.
  const last = `{"request_id":"last","job_id":"last","arrival_ms":0,"prompt":"x","max_tokens":1}`;
  writeFileSync(path, [...lines, last].join("\n"));
  return readTrace(path, { format: "reprise", skipBad: true, name: "trace" });
}

/** How many rows are in columns alone. */
function inColumns({ requests }: Trace): number {
  const table = TraceTable.of(requests);
  let plain = 0;
  for (let row = 0; row < table.length; row++) if (table.whole(row) === null) plain++;
  return plain;
}

const number = fc.oneof(
  fc.nat({ max: 5000 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0, 1e20, 1e21, 2 ** 53, 123456789.125, 0.1, 1e-7, -5),
);
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.constantFrom("a", "é", '"\\\n\u2028', "\u0001"),
);
const blocks = fc.oneof(
  fc.array(fc.nat({ max: 2 ** 31 }), { maxLength: 4 }),
  fc.array(fc.oneof(fc.integer(), fc.string()), { maxLength: 2 }),
);
const recorded = fc.record(
  { sent_ms: number, first_token_ms: number, end_ms: number, prompt_tokens: number, output_tokens: number },
  { requiredKeys: [] },
);
const orNull = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { freq: 5 });
const row = fc.record(
  {
    request_id: fc.oneof({ weight: 8, arbitrary: fc.uuid() }, text),
    job_id: fc.oneof({ weight: 8, arbitrary: fc.constantFrom("a", "b") }, text),
    turn: orNull(number),
    arrival_ms: orNull(fc.oneof({ weight: 8, arbitrary: fc.nat() }, number)),
    after: orNull(fc.array(fc.constantFrom("r0", "last", "x"), { maxLength: 2 })),
    tool: orNull(
      fc.array(fc.record({ name: text, ms: orNull(number) }, { requiredKeys: [] }), { maxLength: 2 }),
    ),
    think_ms: orNull(number),
    prompt: orNull(text),
    prompt_tokens: orNull(fc.integer({ min: 0, max: 60 })),
    hash_ids: orNull(blocks),
    block_tokens: orNull(fc.constantFrom(0, 1, 16, 20)),
    hash_scope: orNull(text),
    max_tokens: orNull(number),
    expected_output_tokens: orNull(number),
    temperature: orNull(number),
    budget_ms: orNull(number),
    agent: orNull(text),
    recorded: orNull(recorded),
  },
  { requiredKeys: [] },
);
/** A row whose optional fields are most often right. */
const plainRow = fc.record(
  {
    turn: fc.nat({ max: 9 }),
    think_ms: fc.nat(),
    hash_scope: fc.constantFrom("s", null),
    temperature: fc.constantFrom(0, 0.7),
    budget_ms: fc.constantFrom(null, 1000.5),
    agent: fc.constantFrom("main", null),
    recorded: fc.record(
      { sent_ms: fc.nat(), end_ms: fc.nat(), output_tokens: fc.nat() },
      { requiredKeys: [] },
    ),
    after: fc.constantFrom(null, [], ["r0"]),
    tool: fc.array(fc.record({ name: fc.constantFrom("grep", "sed"), ms: fc.nat() }), { maxLength: 3 }),
    request_id: fc.uuid(),
    job_id: fc.constantFrom("a", "b"),
    arrival_ms: fc.nat(),
    max_tokens: fc.nat(),
  },
  { requiredKeys: ["request_id", "job_id", "arrival_ms", "max_tokens"] },
);
const prompt = fc.oneof(
  fc.record({ prompt: text }),
  fc.record({ prompt_tokens: fc.integer({ min: 1, max: 60 }) }),
  fc.record({
    prompt_tokens: fc.constant(50),
    hash_ids: fc.array(fc.nat(), { minLength: 3, maxLength: 4 }),
    block_tokens: fc.constant(16),
  }),
);
const anyRow = fc.oneof(
  row,
  fc.tuple(plainRow, prompt).map(([fields, own]) => ({ ...fields, ...own })),
);

/** JSON with spaces where they may stand. */
function spaced(value: unknown, space: boolean): string {
  const json = JSON.stringify(value);
  return space ? JSON.stringify(value, null, 1).replaceAll("\n", " ") : json;
}

describe("the fast path", () => {
  it("reads what the ordinary way reads, and leaves it what that refuses", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyRow, { maxLength: 6 }), fc.boolean(), async (rows, space) => {
        const first = { request_id: "r0", job_id: "a", arrival_ms: 0, prompt_tokens: 5, max_tokens: null };
        const all = [first, ...rows];
        const fast = await read(all.map((fields) => spaced(fields, space)));
        // A field that nobody knows sends a row the ordinary way.
        const slow = await read(all.map((fields) => spaced({ ...fields, colour: "red" }, space)));
        expect(inColumns(slow)).toBeLessThanOrEqual(1);
        expect([...fast.requests]).toEqual([...slow.requests]);
        expect(fast.faults).toEqual(slow.faults);
        expect(fast.rows).toEqual(slow.rows);
        expect(fast.provenance).toEqual(slow.provenance);
      }),
      { numRuns: 200 },
    );
  });

  it("resolves rows in columns as the same rows as objects", async () => {
    const graph = fc.array(
      fc.record({
        job: fc.constantFrom("a", "b"),
        gap: fc.nat({ max: 3 }),
        turn: fc.constantFrom(0, 0, 1),
        parents: fc.array(fc.nat({ max: 5 }), { maxLength: 3 }),
        after: fc.boolean(),
        end: fc.option(fc.nat({ max: 4 })),
      }),
      { minLength: 1, maxLength: 8 },
    );
    await fc.assert(
      fc.asyncProperty(graph, fc.boolean(), async (told, always) => {
        let now = 0;
        const rows = told.map(({ job, gap, turn, parents, after, end }, i) => {
          now += always ? gap + 1 : gap;
          const ids = parents.map((back) => i - 1 - back).filter((at) => at >= 0 && told[at]?.job === job);
          return {
            request_id: `r${i}`,
            job_id: job,
            arrival_ms: now,
            turn: always ? i : turn,
            max_tokens: 1,
            ...(always || after ? { after: ids.map((at) => `r${at}`) } : {}),
            ...(end === null ? {} : { recorded: { end_ms: now + end } }),
            prompt_tokens: 1,
          };
        });
        const { requests } = await read(rows.map((fields) => JSON.stringify(fields)));
        expect([...resolveJobs(requests)]).toEqual([...resolveJobs([...requests])]);
      }),
      { numRuns: 150 },
    );
  });

  it("takes plain rows: key orders, spaces, CRLF, escapes that stand for themselves, parents before them", async () => {
    const trace = await read([
      '{"request_id":"a","job_id":"j","arrival_ms":0.1,"prompt":"one\\n\\"two\\" é","max_tokens":null}\r',
      ' { "max_tokens" : 3 , "job_id" : "j", "prompt_tokens":33, "hash_ids": [ 1, 2147483647 ,0 ], "block_tokens":16,' +
        ' "request_id":"b", "arrival_ms": 12.5, "after":["a"], "tool" : [ {"ms":1.5,"name":"x"} , {"name":"x", "ms":2} ], "recorded":{"output_tokens":0} } ',
      '{"request_id":"c","job_id":"j","arrival_ms":13,"after":[],"prompt_tokens":1,"max_tokens":1,"agent":"x"}',
    ]);
    expect(inColumns(trace)).toBe(4);
    expect([...trace.requests].slice(0, 3)).toMatchObject([
      { arrival_ms: 0.1, prompt: { kind: "text", text: 'one\n"two" é' }, after: null, recorded: null },
      {
        arrival_ms: 12.5,
        after: ["a"],
        tool: [
          { name: "x", ms: 1.5 },
          { name: "x", ms: 2 },
        ],
        prompt: { kind: "length", tokens: 33, hash_ids: [1, 2147483647, 0], block_tokens: 16 },
        recorded: { output_tokens: 0, end_ms: null },
      },
      { after: [], agent: "x", prompt: { kind: "length", tokens: 1, hash_ids: null } },
    ]);
  });

  it("tries seldom where no row is plain, and goes on when they are again", async () => {
    const plain = (i: number): string =>
      `{"request_id":"p${i}","job_id":"j${i}","arrival_ms":1,"prompt_tokens":2,"max_tokens":1}`;
    const other = (i: number): string =>
      `{"request_id":"o${i}","job_id":"o${i}","arrival_ms":1,"prompt_tokens":2,"max_tokens":1,"metadata":{}}`;
    const trace = await read([
      ...Array.from({ length: 200 }, (_, i) => other(i)),
      ...Array.from({ length: 200 }, (_, i) => plain(i)),
    ]);
    expect(trace.requests.length).toBe(401);
    const columns = inColumns(trace);
    expect(columns).toBeGreaterThan(130);
    expect(columns).toBeLessThan(201);
  });

  it.each([
    ["a repeated key", '"turn":1,"turn":2', 2],
    ["an exponent", '"turn":2e0', 2],
    ["sixteen digits", '"turn":1000000000000001', 1000000000000001],
    ["an escaped key", '"t\\u0075rn":2', 2],
  ])("leaves %s to the ordinary way", async (_what, field, turn) => {
    const trace = await read([
      `{"request_id":"a","job_id":"j","arrival_ms":0,"prompt":"x","max_tokens":1,${field}}`,
    ]);
    expect(inColumns(trace)).toBe(1);
    expect(trace.requests.at(0)?.turn).toBe(turn);
  });

  it.each([
    ["a leading zero", '"turn":01'],
    ["a lone minus", '"turn":-'],
    ["a trailing comma", '"turn":1,'],
    ["no digits after the point", '"turn":1.'],
    ["a raw control character", '"agent":"a\u0001"'],
    ["a comma too many in a list", '"hash_ids":[1,,2]'],
  ])("does not take %s", async (_what, field) => {
    const trace = await read([
      `{"request_id":"a","job_id":"j","arrival_ms":0,"prompt_tokens":2,"block_tokens":1,"max_tokens":1,${field}}`,
    ]);
    expect(trace.faults).toMatchObject([{ line: 1 }]);
    expect(trace.faults[0]?.reason).toContain("not valid JSON");
  });
});
