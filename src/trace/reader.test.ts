/** Finding the format, and reading files, gzip, pipes and folders. */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { FORMATS } from "./formats/index.ts";
import { readTrace } from "./reader.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-reader-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
function write(content: string | Buffer, name = `t${files++}`): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}
const ROW = '{"request_id": "a", "job_id": "j", "arrival_ms": 1, "prompt": "x", "max_tokens": 3}\n';
const MOON = '{"timestamp": 7, "input_length": 5, "output_length": 2, "hash_ids": [4]}\n';

describe("detection", () => {
  it("looks at the content, whatever the name; --format overrules it", async () => {
    expect((await readTrace(write(MOON, "weka.csv"))).format).toBe("mooncake");
    expect((await readTrace(write(MOON), { format: "aiperf" })).format).toBe("aiperf");
    await expect(readTrace(write(MOON), { format: "azure" })).rejects.toThrow(
      'column "TIMESTAMP" is missing',
    );
  });
  it("a damaged first row hides neither the format nor the damage", async () => {
    const path = write(`{"request_id": "a", \n${ROW}${ROW.replace('"a"', '"b"')}`);
    await expect(readTrace(path)).rejects.toThrow(`${path}:1: not valid JSON`);
    expect((await readTrace(path, { skipBad: true })).rows).toMatchObject({ read: 3, used: 2, refused: 1 });
  });
  it("a broken document is named by its line, not called unknown", async () => {
    const path = write('{\n "id": "x",\n "requests": [\n  {"t": 0},\n ]\n}');
    await expect(readTrace(path)).rejects.toThrow(`${path}:5: not valid JSON`);
    const lines = write(`${MOON.trim()},\n${MOON.trim()},\n`);
    await expect(readTrace(lines)).rejects.toThrow(`${lines}:1: not valid JSON`);
  });
  it("names the nearest format and what it lacks, and lists all", async () => {
    const path = write('{"timestamp": 0, "input_length": 5, "hash_ids": [1]}\n');
    const error = await readTrace(path).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ name: "UserError", exitCode: 2 });
    expect((error as Error).message).toBe(
      `${path}: no known trace format; the nearest is mooncake, but "output_length" is missing`,
    );
    expect((error as { hint: string }).hint).toContain(FORMATS.map(({ name }) => name).join(", "));
    await expect(readTrace(write("TIMESTAMP,ContextTokens\n1,2\n"))).rejects.toThrow(
      'the nearest is azure, but "GeneratedTokens" is missing',
    );
    await expect(readTrace(write(`[${MOON}]`))).rejects.toThrow(
      "its rows stand in one JSON array, not one a line",
    );
    await expect(readTrace(write('{"colour": 1}\n'))).rejects.toThrow("its keys (colour) are those of none");
    await expect(readTrace(write("hello\n"))).rejects.toThrow(
      "it starts neither with JSON nor with a CSV header",
    );
    await expect(readTrace(write(ROW), { format: "mooncacke" })).rejects.toThrow(
      '--format: "mooncacke" is no trace format',
    );
  });
  it("refuses the empty, the binary, the missing, and a trace without requests", async () => {
    await expect(readTrace(write("\n  \n"))).rejects.toThrow("the file is empty");
    await expect(readTrace(write(Buffer.from([1, 0, 2, 10])))).rejects.toThrow("a binary file");
    await expect(readTrace(join(folder, "nowhere"))).rejects.toThrow("no such file");
    await expect(readTrace(write('{"reprise_trace": 1}\n'))).rejects.toThrow(
      "no requests in it (reprise; 1 rows read, 1 skipped (header))",
    );
    await expect(readTrace(write("x".repeat(3), "e.gz"))).rejects.toMatchObject({ name: "UserError" });
    await expect(readTrace(write(gzipSync(ROW.repeat(500)).subarray(0, 60)))).rejects.toThrow(
      "damaged gzip file",
    );
  });
  it("no format throws on strange content", () => {
    const sample = {
      path: "x",
      isFolder: false,
      head: "",
      files: [],
      lines: ["1"],
      rows: [1, null, [], "x", {}],
      document: [null],
    };
    for (const format of FORMATS) expect(format.detect(sample), format.name).toBeLessThan(0.5);
  });
});

describe("sources", () => {
  it("gzip, whatever the name, with BOM inside", async () => {
    const trace = await readTrace(write(gzipSync(`\ufeff${ROW}`)));
    expect(trace.requests.at(0)?.request_id).toBe("a");
  });

  it("a pipe is read once, in full, and leaves nothing behind", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith("reprise-stdin-"));
    const path = write(ROW + ROW.replace('"a"', '"b"'));
    const feeder = spawn("cp", ["--", path, pipe], { stdio: "ignore" });
    const exited = new Promise((resolve) => feeder.once("exit", resolve));
    const trace = await readTrace(pipe);
    await exited;
    expect(trace).toMatchObject({ path: pipe, format: "reprise" });
    expect(trace.requests).toHaveLength(2);
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith("reprise-stdin-"))).toEqual(before);
  });

  it("a folder is one trace: ids that clash are told apart, block names stay within their file, faults name the file", async () => {
    const path = join(folder, "many");
    mkdirSync(path);
    writeFileSync(join(path, "b.jsonl"), MOON + MOON);
    writeFileSync(join(path, "a.jsonl"), MOON);
    writeFileSync(join(path, "README.md"), "not a trace");
    const trace = await readTrace(path);
    expect(
      trace.requests.map(({ request_id, job_id, prompt }) => [
        request_id,
        job_id,
        prompt.kind === "length" ? prompt.hash_scope : "",
      ]),
    ).toEqual([
      ["a.jsonl/r1", "a.jsonl/r1", "a.jsonl"],
      ["b.jsonl/r1", "b.jsonl/r1", "b.jsonl"],
      ["b.jsonl/r2", "b.jsonl/r2", "b.jsonl"],
    ]);
    expect(trace.rows).toEqual({ read: 3, used: 3, skipped: {}, refused: 0 });
    writeFileSync(join(path, "c.jsonl"), `${MOON}{"timestamp": -1}\n`);
    await expect(readTrace(path)).rejects.toThrow(`${join(path, "c.jsonl")}:2: `);
  });

  it("a file without requests does not weaken what the others tell", async () => {
    const path = join(folder, "sessions");
    mkdirSync(path);
    const head = "Timestamp,Session ID,Request tokens,Response tokens";
    write(`${head}\n5,s,10,20\n`, "sessions/1.csv");
    write(`${head}\n6,,10,0\n`, "sessions/2.csv");
    const trace = await readTrace(path);
    expect(trace.rows).toMatchObject({ read: 2, used: 1 });
    expect(trace.provenance).toMatchObject({ arrivals: "recorded", order: "inferred" });
    expect(trace.notes).toContain("1 of 2 files hold no requests");
  });
  it("files that know the calendar keep their distance", async () => {
    const path = join(folder, "days");
    mkdirSync(path);
    const head = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
    writeFileSync(join(path, "2.csv"), `${head}2024-05-10 00:00:00.5,1,1\n`);
    writeFileSync(join(path, "1.csv"), `${head}2024-05-10 00:01:00,1,1\n`);
    expect((await readTrace(path)).requests.map(({ arrival_ms }) => arrival_ms)).toEqual([60_000, 500]);
    writeFileSync(join(path, "3.csv"), head);
    writeFileSync(join(path, "0.csv"), "");
    const trace = await readTrace(path);
    expect(trace.requests.map(({ arrival_ms }) => arrival_ms)).toEqual([60_000, 500]);
    expect(trace.notes).toContain("2 of 4 files hold no requests");
  });
});
