/** Zip archives: the three ways of packing, ZIP64, and every kind of damage as one user's error. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { zipOf, type WrittenEntry } from "../../test/trace/written-zip.ts";
import { UserError } from "./failure.ts";
import { isZip, ZipArchive } from "./zip.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-zip-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function readAll(bytes: Buffer): Promise<Record<string, string>> {
  const path = join(folder, "a.zip");
  writeFileSync(path, bytes);
  const archive = await ZipArchive.open(path, "a.zip");
  try {
    const texts: Record<string, string> = {};
    for (const [name, entry] of archive.entries) texts[name] = (await archive.read(entry)).toString("utf8");
    return texts;
  } finally {
    await archive.close();
  }
}

const entries: readonly WrittenEntry[] = [
  { name: "stored.json", text: "[1]", method: "stored" },
  { name: "samples/ü.json", text: "x".repeat(5000) },
  { name: "new.json", text: "zstd ".repeat(100), method: "zstd" },
  { name: "empty", text: "" },
];
const texts = Object.fromEntries(entries.map(({ name, text }) => [name, text]));

describe("zip", () => {
  it("reads stored, deflated and zstd entries, also by a ZIP64 directory", async () => {
    expect(await readAll(zipOf(entries))).toEqual(texts);
    expect(await readAll(zipOf(entries, true))).toEqual(texts);
  });

  it("takes the last of entries of one name: the one that was written over the others", async () => {
    const twice = zipOf([...entries, { name: "stored.json", text: "[2]" }]);
    expect(await readAll(twice)).toEqual({ ...texts, "stored.json": "[2]" });
  });

  it("finds the directory before a comment", async () => {
    const bytes = zipOf(entries);
    expect(await readAll(Buffer.concat([bytes, Buffer.from("a comment")]))).toEqual(texts);
  });

  it("tells a zip by its first bytes", async () => {
    const path = join(folder, "b");
    writeFileSync(path, zipOf(entries));
    expect(await isZip(path)).toBe(true);
    writeFileSync(path, "{}");
    expect(await isZip(path)).toBe(false);
    expect(await isZip(join(folder, "none"))).toBe(false);
  });

  it("answers any damage with a user's error", async () => {
    const whole = zipOf(entries);
    await expect(readAll(whole.subarray(0, whole.length - 30))).rejects.toThrow(
      /a\.zip: damaged zip archive \(it has no directory at its end: the file is cut\)/,
    );
    const wrong = Buffer.from(whole);
    wrong.write("[7]", 30 + "stored.json".length);
    await expect(readAll(wrong)).rejects.toThrow(
      /stored\.json: damaged zip archive \(its checksum does not fit\)/,
    );
    for (let at = 0; at < whole.length; at++) {
      const damaged = Buffer.from(whole);
      damaged.writeUInt8(damaged.readUInt8(at) ^ 0xff, at);
      const outcome = await readAll(damaged).then(
        () => null,
        (error: unknown) => error,
      );
      if (outcome !== null) expect(outcome).toBeInstanceOf(UserError);
    }
  });
});
