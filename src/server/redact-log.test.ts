import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { secrets } from "../core/secret.ts";
import { redactLog } from "./redact-log.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reprise-redact-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("a server's log", () => {
  it("loses its secrets wherever a piece ends, and nothing else", () => {
    secrets.add("sk-CANARY-log");
    secrets.add("sk-CANARY-log-longer-ü");
    const file = join(folder, "server.log");
    const text = "aé sk-CANARY-log b\nsk-CANARY-log-longer-üsk-CANARY-log\n🌍 sk-CANARY-lo end sk-CANARY-log";
    const clean = "aé [redacted] b\n[redacted][redacted]\n🌍 sk-CANARY-lo end [redacted]";
    for (let piece = 1; piece < 100; piece++) {
      writeFileSync(file, text);
      redactLog(file, piece);
      expect(readFileSync(file, "utf8"), `pieces of ${piece}`).toBe(clean);
    }
  });

  it("stays as it is without one", () => {
    secrets.add("sk-CANARY-log");
    const file = join(folder, "server.log");
    writeFileSync(file, Buffer.from([0xff, 0xfe, 0x0a, 0x80]));
    const { ino } = statSync(file);
    redactLog(file, 2);
    expect([...readFileSync(file)]).toEqual([0xff, 0xfe, 0x0a, 0x80]);
    expect(statSync(file).ino).toBe(ino);
  });
});
