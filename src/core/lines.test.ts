/** Lines across read boundaries: a read takes 1 MiB, so lines are laid over that border on purpose. */
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { readLineBatches, readText, type Line } from "./lines.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-lines-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
async function lines(content: string | Buffer): Promise<Line[]> {
  const path = join(folder, `t${files++}`);
  writeFileSync(path, content);
  const all: Line[] = [];
  for await (const batch of readLineBatches(path)) all.push(...batch);
  return all;
}
const READ = 1 << 20;

describe("readLineBatches", () => {
  it.each([-3, -2, -1, 0, 1, 2])(
    "cuts right where CR LF and a character lie over a read's border (%d)",
    async (by) => {
      const first = "x".repeat(READ + by - 1);
      const got = await lines(`${first}\r\n你🌍\r\n\nlast\r`);
      expect(got.map(({ number }) => number)).toEqual([1, 2, 3, 4]);
      expect(got.map(({ text }) => text).join("|") === `${first}|你🌍||last`).toBe(true);
    },
  );
  it("a line of many reads, then short ones; gzip alike", async () => {
    const long = "0123456789".repeat(500_000);
    const text = `a\n${long}\nb\n`;
    for (const content of [text, gzipSync(text)]) {
      const got = await lines(content);
      expect(got.map(({ text: line }) => line.length)).toEqual([1, 5_000_000, 1]);
      expect(got[1]?.text === long).toBe(true);
    }
  });
  it("only LF ends a line; a BOM at the start goes; an empty file has none", async () => {
    expect((await lines("\ufeffa\u2028b\rc\nd")).map(({ text }) => text)).toEqual(["a\u2028b\rc", "d"]);
    expect(await lines("")).toEqual([]);
    expect(await lines("\ufeff")).toEqual([]);
    expect((await lines("\n\n")).length).toBe(2);
  });
});

it("readText names a missing file and a folder in one line", async () => {
  await expect(readText(join(folder, "none"))).rejects.toThrow("no such file");
  await expect(readText(folder)).rejects.toThrow("is a folder");
  const loop = join(folder, "loop");
  symlinkSync(loop, loop);
  await expect(readText(loop)).rejects.toThrow(/loop: cannot be read \(ELOOP\)$/);
});
