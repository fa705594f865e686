import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { openOutput } from "./output-file.ts";
import type { Io } from "./verb.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-output-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const unused = (): never => {
  throw new Error("a file was asked for");
};
const io = { out: unused, err: unused } as unknown as Io;

describe("a file of many large writes", () => {
  it.each(["out.jsonl", "out.jsonl.gz"])(
    "%s is whole, and no listener is left behind by a write",
    async (name) => {
      const warnings: string[] = [];
      const onWarning = ({ message }: Error): number => warnings.push(message);
      process.on("warning", onWarning);
      const path = join(folder, name);
      const output = openOutput(path, io);
      const piece = `${"x".repeat(99_999)}\n`;
      for (let i = 0; i < 40; i++) await output.write(piece);
      await output.close();
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      process.off("warning", onWarning);
      const bytes = readFileSync(path);
      expect((name.endsWith(".gz") ? gunzipSync(bytes) : bytes).length).toBe(40 * 100_000);
      expect(warnings).toEqual([]);
    },
  );

  it("is a UserError where it cannot be", async () => {
    const output = openOutput(join(folder, "no/such/folder.jsonl"), io);
    await expect(
      (async () => {
        for (let i = 0; i < 3; i++) await output.write("x".repeat(100_000));
        await output.close();
      })(),
    ).rejects.toThrow(/folder.jsonl: cannot be written \(ENOENT\)/);
  });
});
