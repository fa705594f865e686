import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, write, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { buildSync } from "esbuild";
import { record as unmeasured } from "../../test/support/run-samples.ts";
import { UserError } from "../core/failure.ts";
import { secrets } from "../core/secret.ts";
import { parseRecordLine, recordLine } from "./record-line.ts";
import { readRecords } from "./read-run.ts";
import type { RequestRecord } from "./request-record.ts";
import { openRunLog, type PositionalWrite } from "./run-log.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reprise-log-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function record(id: string, more: Partial<RequestRecord> = {}): RequestRecord {
  return unmeasured({
    request_id: id,
    job_id: "j",
    intended_ms: 0,
    sent_ms: 0.12345678,
    first_token_ms: 100.00049,
    end_ms: 200,
    chunk_ms: [100.00049, 150.9999],
    ...more,
  });
}

const lines = (): string[] => readFileSync(join(folder, "records.jsonl"), "utf8").split("\n").slice(0, -1);
const ids = (): string[] => lines().map((line) => (JSON.parse(line) as { request_id: string }).request_id);

async function readIds(path = join(folder, "records.jsonl")): Promise<string[]> {
  const out: string[] = [];
  for await (const batch of readRecords(path)) out.push(...batch.map((item) => item.request_id));
  return out;
}

describe("run log", () => {
  it("keeps the order and has everything on disk after a flush", async () => {
    const log = openRunLog(folder);
    const want: string[] = [];
    for (let i = 0; i < 500; i++) {
      log.append(record(`r${i}`));
      want.push(`r${i}`);
      if (i % 50 === 0) await log.flush();
    }
    await log.flush();
    expect(ids()).toEqual(want);
    expect(await log.close()).toEqual({ saved: 500, lost: 0, error: null });
    expect(await readIds()).toEqual(want);
  });

  it("writes the first record at once, those that follow close behind together", async () => {
    const writes: { at: number; lines: number }[] = [];
    const counting: PositionalWrite = (file, bytes, offset, length, position, done) => {
      writes.push({ at: performance.now(), lines: bytes.toString("utf8").split("\n").length - 1 });
      write(file, bytes, offset, length, position, done);
    };
    const log = openRunLog(folder, { write: counting });
    log.append(record("first"));
    await Promise.resolve();
    await Promise.resolve();
    expect(writes).toHaveLength(1);
    await new Promise((resolve) => setTimeout(resolve, 2));
    for (const id of ["a", "b", "c"]) log.append(record(id));
    log.appendLines(recordLine(record("d")) + recordLine(record("e")), 2);
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(writes.map(({ lines }) => lines)).toEqual([1, 5]);
    expect((writes[1]?.at as number) - (writes[0]?.at as number)).toBeGreaterThan(18);
    expect(await log.close()).toMatchObject({ saved: 6, lost: 0 });
  });

  it("never opens an existing log", () => {
    writeFileSync(join(folder, "records.jsonl"), "mine\n");
    expect(() => openRunLog(folder)).toThrow();
    expect(readFileSync(join(folder, "records.jsonl"), "utf8")).toBe("mine\n");
  });

  it("finishes a short write", async () => {
    const short: PositionalWrite = (file, bytes, offset, length, position, done) => {
      write(file, bytes, offset, Math.min(7, length), position, done);
    };
    const log = openRunLog(folder, { write: short });
    for (let i = 0; i < 5; i++) log.append(record(`r${i}`));
    await log.close();
    expect(ids()).toEqual(["r0", "r1", "r2", "r3", "r4"]);
  });

  it("says once that the disk is full, keeps whole lines, and claims only those", async () => {
    let room = 2400;
    const full: PositionalWrite = (file, bytes, offset, length, position, done) => {
      if (room === 0) {
        done(Object.assign(new Error("ENOSPC"), { code: "ENOSPC" }), 0);
        return;
      }
      const part = Math.min(room, length);
      room -= part;
      write(file, bytes, offset, part, position, done);
    };
    const told: Error[] = [];
    const log = openRunLog(folder, { write: full, onError: (error) => told.push(error) });
    for (let i = 0; i < 10; i++) {
      log.append(record(`r${i}`));
      // One alone, the others together in one write.
      if (i === 0) await log.flush();
    }
    const result = await log.close();
    // As many whole lines as fit.
    expect(result.saved).toBe(Math.floor(2400 / Buffer.byteLength(recordLine(record("r0")))));
    expect(told).toHaveLength(1);
    expect(told[0]).toBeInstanceOf(UserError);
    expect(told[0]?.message).toContain("no space left");
    expect(result.saved).toBe(ids().length);
    expect(result.saved).toBeGreaterThan(0);
    expect(result.saved + result.lost).toBe(10);
  });

  it("writes what is pending when the process exits, and nothing twice", () => {
    const script = `
      import { openRunLog } from ${JSON.stringify(join(import.meta.dirname, "run-log.ts"))};
      const record = ${JSON.stringify(record("x"))};
      const log = openRunLog(${JSON.stringify(folder)});
      log.append({ ...record, request_id: "a" });
      setTimeout(() => {
        log.append({ ...record, request_id: "b" });
        queueMicrotask(() => queueMicrotask(() => {
          log.append({ ...record, request_id: "c" });
          process.exit(7);
        }));
      }, 5);`;
    const source = join(folder, "exit-script.ts");
    const file = join(folder, "exit-script.mjs");
    writeFileSync(source, script);
    buildSync({ entryPoints: [source], outfile: file, bundle: true, platform: "node", format: "esm" });
    const child = spawnSync(process.execPath, [file]);
    expect(child.stderr.toString()).toBe("");
    expect(child.status).toBe(7);
    expect(ids()).toEqual(["a", "b", "c"]);
  });

  it("rounds times to a microsecond and redacts secrets, digits in numbers left alone", () => {
    secrets.add('sk-CANARY"quoted');
    secrets.add("4567.25");
    const line = recordLine(
      record("r", {
        end_ms: 4567.25,
        failure: { code: "http_4xx", message: 'bad key sk-CANARY"quoted (4567.25)', http_status: 401 },
      }),
    );
    expect(line).not.toContain("CANARY");
    const parsed = parseRecordLine(line) as RequestRecord;
    expect(parsed.failure?.message).toBe("bad key [redacted] ([redacted])");
    expect(parsed.sent_ms).toBe(0.123);
    expect(parsed.end_ms).toBe(4567.25);
    expect(parsed.chunk_ms).toEqual([100, 151]);
  });
});

describe("reading records", () => {
  const path = (): string => join(folder, "records.jsonl");

  it("drops a half last line, and only that", async () => {
    const whole = recordLine(record("a")) + recordLine(record("b"));
    for (const cut of [1, 10, 200]) {
      writeFileSync(path(), whole + recordLine(record("c")).slice(0, cut));
      expect(await readIds()).toEqual(["a", "b"]);
    }
    writeFileSync(path(), recordLine(record("a")) + recordLine(record("b")).slice(0, 50) + "\n" + whole);
    await expect(readIds()).rejects.toThrow(/records\.jsonl:2: not JSON/);
  });

  it("refuses a wrong record by file and line", async () => {
    for (const [key, value] of [
      ["status", "fine"],
      ["end_ms", "soon"],
      ["end_ms", -1],
      ["chunk_ms", [1, null]],
      ["after", [3]],
      ["failure", {}],
    ] as const) {
      writeFileSync(path(), `${JSON.stringify({ ...record("a"), [key]: value })}\n`);
      await expect(readIds()).rejects.toThrow(new RegExp(`records\\.jsonl:1: ${key}`));
    }
  });

  it("takes keys that are missing as not measured", () => {
    const parsed = parseRecordLine(
      '{"request_id":"a","status":"ok","sent_ms":1,"end_ms":2}',
    ) as RequestRecord;
    expect(parsed).toMatchObject({ job_id: "a", turn: 0, first_token_ms: null, after: [], connect_ms: 0 });
    expect(parsed.chunk_tokens).toBeNull();
  });

  it("reads an empty and an absent log as no records", async () => {
    expect(await readIds(join(folder, "none.jsonl"))).toEqual([]);
    writeFileSync(path(), "");
    expect(await readIds()).toEqual([]);
  });
});
