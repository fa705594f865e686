import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { UserError } from "../core/failure.ts";
import { createRunFolder, fileNamePart, runName } from "./run-folder.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "reprise-folder-"));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

const startedAt = Date.UTC(2026, 0, 31, 23, 59, 59, 400);

describe("createRunFolder", () => {
  it("makes one folder whatever the model is called", () => {
    const folder = createRunFolder({ root, startedAt, trace: "data/a.jsonl", model: "org/name:tag" });
    expect(folder).toBe(join(root, "20260131-235959-data_a.jsonl-org_name_tag"));
    expect(readdirSync(root)).toHaveLength(1);
    const hostile = createRunFolder({ root, startedAt, trace: null, model: "../../etc/\u202epasswd\0" });
    expect(hostile).toBe(join(root, "20260131-235959-etc_passwd"));
    expect(readdirSync(root)).toHaveLength(2);
  });

  it("gives runs of one second folders of their own", () => {
    const made = [1, 2, 3].map(() => createRunFolder({ root, startedAt, trace: "t", model: "m" }));
    expect(made.map((folder) => folder.slice(root.length + 1))).toEqual([
      "20260131-235959-t-m",
      "20260131-235959-t-m-2",
      "20260131-235959-t-m-3",
    ]);
  });

  it("takes an empty or new --out, and refuses one with anything in it", () => {
    const out = join(root, "deep", "out");
    const request = { out, startedAt, trace: "t", model: "m" };
    expect(createRunFolder(request)).toBe(out);
    expect(createRunFolder(request)).toBe(out);
    writeFileSync(join(out, "keep.txt"), "mine");
    expect(() => createRunFolder(request)).toThrow(UserError);
    expect(readFileSync(join(out, "keep.txt"), "utf8")).toBe("mine");
  });

  it("refuses in one line where no folder can be made, at once", () => {
    const request = { startedAt, trace: "t", model: "m" };
    for (const out of ["/proc/reprise-run", "/dev/null/run"]) {
      if (process.platform !== "linux") continue;
      expect(() => createRunFolder({ ...request, out })).toThrow(UserError);
      expect(() => createRunFolder({ ...request, root: out })).toThrow(UserError);
    }
  });

  it("refuses a file in the way", () => {
    writeFileSync(join(root, "file"), "");
    expect(() => createRunFolder({ out: join(root, "file"), startedAt, trace: "t", model: "m" })).toThrow(
      UserError,
    );
    expect(() =>
      createRunFolder({ out: join(root, "file", "x"), startedAt, trace: "t", model: "m" }),
    ).toThrow(UserError);
    expect(() => createRunFolder({ root: join(root, "file"), startedAt, trace: "t", model: "m" })).toThrow(
      UserError,
    );
    mkdirSync(join(root, "ok"));
  });
});

describe("names", () => {
  it("are never empty, hidden or a way out", () => {
    for (const name of ["", ".", "..", "/", "---", "日本"]) expect(fileNamePart(name)).toBe("unnamed");
    expect(fileNamePart("-rf")).toBe("rf");
    expect(fileNamePart("a..b")).toBe("a_b");
    expect(fileNamePart("x".repeat(300))).toHaveLength(60);
    expect(runName({ startedAt, trace: "a", model: "b" })).toBe("20260131-235959-a-b");
  });
});
