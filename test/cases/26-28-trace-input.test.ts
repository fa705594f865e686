/** Cases 26–28 at the trace layer: units, file forms, and the account of rows, for every row format alike. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { inspectTrace } from "../../src/trace/inspect.ts";
import { readTrace } from "../../src/trace/reader.ts";
import type { Trace } from "../../src/trace/trace.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-cases-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
function write(content: string | Buffer): string {
  const path = join(folder, `t${files++}`);
  writeFileSync(path, content);
  return path;
}

interface Kind {
  readonly name: string;
  /** A header line or none, and three good rows. */
  readonly lines: readonly string[];
  /** Bad versions of the second row, each for its reason. */
  readonly bad: Readonly<Record<string, string>>;
}

const json = (row: unknown): string => JSON.stringify(row);
const moon = (change: object = {}): string =>
  json({ timestamp: 2, input_length: 700, output_length: 3, hash_ids: [1, 2], ...change });
const own = (id: string, change: object = {}): string =>
  json({ request_id: id, job_id: "j", arrival_ms: 2, prompt: "q\u2028", max_tokens: 4, ...change });
const kinds: readonly Kind[] = [
  {
    name: "reprise",
    lines: [own("a"), own("b"), own("c")],
    bad: {
      zero: own("b", { max_tokens: 0 }),
      negative: own("b", { arrival_ms: -2 }),
      missing: json({ request_id: "b" }),
      duplicate: own("a"),
      comma: `${own("b")},`,
    },
  },
  {
    name: "mooncake",
    lines: [moon(), moon(), moon()],
    bad: {
      zero: moon({ output_length: 0 }),
      negative: moon({ timestamp: -1 }),
      missing: moon({ input_length: undefined }),
      count: moon({ hash_ids: [1] }),
      cut: moon().slice(0, -3),
    },
  },
  {
    name: "seed-a",
    lines: [1, 2, 3].map((timestamp) =>
      json({ timestamp, queries: [{ prompt_length: 3, response_length: 4 }] }),
    ),
    bad: {
      zero: json({ timestamp: 2, queries: [{ prompt_length: 0, response_length: 4 }] }),
      negative: json({ timestamp: 2, queries: [{ prompt_length: 3, response_length: -4 }] }),
      missing: json({ timestamp: 2, queries: [{ prompt_length: 3 }] }),
      empty: json({ timestamp: 2, queries: [] }),
    },
  },
  {
    name: "azure",
    lines: [
      "TIMESTAMP,ContextTokens,GeneratedTokens",
      ...[1, 2, 3].map((s) => `2023-11-16 18:17:0${s}.9799600,48,10`),
    ],
    bad: {
      zero: "2023-11-16 18:17:02.9,0,10",
      negative: "2023-11-16 18:17:02.9,48,-10",
      missing: "2023-11-16 18:17:02.9,48,",
      short: "2023-11-16 18:17:02.9,48",
      text: "2023-11-16 18:17:02.9,48,ten",
    },
  },
  {
    name: "burstgpt",
    lines: [
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type",
      ...[5, 6, 7].map((s) => `${s},GPT-4,4,5,9,API log`),
    ],
    bad: {
      negative: "-6,GPT-4,4,5,9,API log",
      missing: ",GPT-4,4,5,9,API log",
      fraction: "6,GPT-4,4.5,5,9,API log",
    },
  },
  {
    name: "vidur",
    lines: ["arrived_at,num_prefill_tokens,num_decode_tokens", "0,3,1", "1.5,3,1", "2,3,1"],
    bad: { zero: "1.5,0,1", negative: "-1.5,3,1", missing: "1.5,,1", text: "later,3,1" },
  },
];

function counts(trace: Trace): unknown {
  const { jobs, turns, prompt_tokens, output_tokens, span_ms } = inspectTrace(trace);
  return { jobs, turns, prompt_tokens, output_tokens, span_ms, requests: trace.requests };
}

describe.each(kinds)("$name", ({ name, lines, bad }) => {
  const clean = `${lines.join("\n")}\n`;

  it("case 27: BOM, CRLF, blank lines, no last newline, gzip: as the clean file", async () => {
    // Without blank lines the line numbers in the ids stay, so whole requests can be compared.
    const wanted = counts(await readTrace(write(clean)));
    for (const text of [
      `\ufeff${clean}`,
      clean.replaceAll("\n", "\r\n"),
      lines.join("\n"),
      `${clean}\n  \n\r\n`,
    ]) {
      const trace = await readTrace(write(text));
      expect(trace.format).toBe(name);
      expect(counts(trace)).toEqual(wanted);
    }
    expect(counts(await readTrace(write(gzipSync(clean))))).toEqual(wanted);
    const blank = await readTrace(write(lines.join("\n\n \n")));
    expect(blank.requests.map(({ prompt }) => prompt)).toEqual(
      (await readTrace(write(clean))).requests.map(({ prompt }) => prompt),
    );
    expect(blank.rows).toMatchObject({ read: lines.length - (clean.startsWith("{") ? 0 : 1), refused: 0 });
  });

  it.each(Object.entries(bad))(
    "case 28: %s is refused by file and line, or counted by wish",
    async (_, row) => {
      const damaged = lines.with(lines.length - 2, row);
      const path = write(damaged.join("\n"));
      const error = await readTrace(path).catch((caught: unknown) => caught as Error);
      expect(error).toMatchObject({ name: "UserError", exitCode: 2 });
      expect((error as Error).message.startsWith(`${path}:${lines.length - 1}: `)).toBe(true);
      expect((error as Error).message).not.toContain("\n");
      const trace = await readTrace(path, { skipBad: true });
      expect(trace.rows).toEqual({ read: 3, used: 2, skipped: {}, refused: 1 });
      expect(trace.requests).toHaveLength(2);
      expect(trace.faults.map(({ line }) => line)).toEqual([lines.length - 1]);
    },
  );
});

describe("case 26", () => {
  it("seconds read as ms warn with the span", async () => {
    const rows = [0, 0.2, 0.4].map((arrival_ms, i) => own(`r${i}`, { arrival_ms, job_id: `j${i}` }));
    const found = inspectTrace(await readTrace(write(rows.join("\n"))));
    expect(found.span_ms).toBe(0.4);
    expect(found.warnings[0]).toContain("3 requests in 0.4 ms");
  });
});
