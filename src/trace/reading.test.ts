/** The reading pieces: lossless integers, JSONL rows, CSV rows, documents, and the account of rows. */
import * as fc from "fast-check";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { UserError } from "../core/failure.ts";
import { readCsvRows, splitCsvLine } from "./csv-reader.ts";
import { jsonErrorOffset, parseDocument } from "./document.ts";
import { parseLossless } from "./lossless-json.ts";
import { BadRow, RowAccount } from "./row-account.ts";
import { integerField } from "./row-fields.ts";
import { readJsonlRows } from "./row-reader.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-reading-"));
afterAll(() => rmSync(folder, { recursive: true }));
function file(name: string, text: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe("parseLossless", () => {
  it("keeps integers beyond 2^53 as digits, wherever they stand", () => {
    expect(parseLossless('{"a":[14879255164371896291,-9007199254740993],"b":9007199254740991}')).toEqual({
      a: ["14879255164371896291", "-9007199254740993"],
      b: 9007199254740991,
    });
  });
  it("leaves digits in strings, fractions and exponents alone", () => {
    expect(
      parseLossless(
        '{"14879255164371896291":"x\\\\\\"14879255164371896291","f":0.12345678901234567890,"e":12345678901234567e2}',
      ),
    ).toEqual({
      "14879255164371896291": 'x\\"14879255164371896291',
      f: 0.12345678901234568,
      e: 1.23456789012345677e18,
    });
  });
  it("equals JSON.parse for every value without such integers", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), (text) => {
        const value: unknown = JSON.parse(text);
        const long = /(?:^|[^\d.])\d{16}/.test(text);
        if (!long) expect(parseLossless(text)).toEqual(value);
      }),
    );
  });
  it("equals a BigInt reading for arrays of any 64-bit integers", () => {
    fc.assert(
      fc.property(fc.array(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n })), (ids) => {
        const text = `{"s":"a\\\\","ids":[${ids.join(" , ")}]}`;
        const got = (parseLossless(text) as { ids: (string | number)[] }).ids;
        expect(got.map((id) => BigInt(id))).toEqual(ids);
      }),
    );
  });
});

describe("JSONL rows", () => {
  it("counts lines from 1, skips blank ones, reads BOM, CRLF, U+2028 and a last line without LF (case 27)", async () => {
    const path = file("a.jsonl", '\ufeff{"n":1}\r\n\r\n  \n{"n":2,"t":"a\u2028b"}\r\n{"n":3}');
    const account = new RowAccount(path, { skipBad: false });
    const seen: unknown[] = [];
    await readJsonlRows(path, account, (row, line) => {
      seen.push([line, row["n"], row["t"] ?? null]);
    });
    expect(seen).toEqual([
      [1, 1, null],
      [4, 2, "a\u2028b"],
      [5, 3, null],
    ]);
    expect(account.counts()).toEqual({ read: 3, used: 3, skipped: {}, refused: 0 });
  });

  it("refuses a bad row by file and line, or counts it with skipBad (case 28)", async () => {
    const text = '{"n":1}\n{"n":2},\n[3]\n{"n":-4}\n{"kind":"x","n":5}\n{"n":6';
    const path = file("b.jsonl", text);
    const read = async (skipBad: boolean): Promise<RowAccount> => {
      const account = new RowAccount(path, { skipBad });
      await readJsonlRows(path, account, (row) => {
        if (row["kind"] === "x") return "marker";
        integerField(row, "n", 0);
        return undefined;
      });
      return account;
    };
    await expect(read(false)).rejects.toThrow(`${path}:2: not valid JSON`);
    await expect(read(false)).rejects.toBeInstanceOf(UserError);
    const account = await read(true);
    expect(account.counts()).toEqual({ read: 6, used: 1, skipped: { marker: 1 }, refused: 4 });
    expect(account.faults.map(({ line }) => line)).toEqual([2, 3, 4, 6]);
    expect(account.faults[2]?.reason).toBe('"n" must be an integer ≥ 0, not -4');
  });
});

describe("CSV rows", () => {
  it("splits quotes, doubled quotes and empty fields", () => {
    expect(splitCsvLine('a,"b,""c""",,"",d')).toEqual(["a", 'b,"c"', "", "", "d"]);
    expect(splitCsvLine('"x"')).toEqual(["x"]);
    expect(splitCsvLine('"x",')).toEqual(["x", ""]);
  });
  it("reads by column name; BOM, CRLF, blank lines, a quoted line break, no last newline", async () => {
    const path = file("a.csv", '\ufeffextra,n,name\r\n1,2,"two\r\nlines"\r\n\r\n,3,x');
    const account = new RowAccount(path, { skipBad: false });
    const seen: unknown[] = [];
    await readCsvRows(path, account, ["n"], (row, line) => {
      seen.push([line, row.integer("n"), row.optionalText("extra"), row.text("name")]);
    });
    expect(seen).toEqual([
      [2, 2, "1", "two\nlines"],
      [5, 3, null, "x"],
    ]);
  });
  it("finds a column by its name in any case; two of one name are refused", async () => {
    const path = file("case.csv", "Extra,extra, N \n1,2,3\n");
    const seen: unknown[] = [];
    const account = new RowAccount(path, { skipBad: true });
    await readCsvRows(path, account, ["n"], (row) => {
      seen.push([row.has("n"), row.has("m"), row.integer("n")]);
      row.optionalText("extra");
    });
    expect(seen).toEqual([[true, false, 3]]);
    expect(account.faults).toMatchObject([{ line: 2, reason: 'two columns are called "extra"' }]);
    const strict = new RowAccount(path, { skipBad: false });
    await expect(readCsvRows(path, strict, ["EXTRA"], () => undefined)).rejects.toThrow(
      `${path}:1: two columns are called "EXTRA"`,
    );
  });
  it("a quote that is never closed costs one fault and linear time", async () => {
    const rows = Array.from({ length: 200_000 }, (_, n) => `${n},x`).join("\n");
    const path = file("open.csv", `n,name\n1,24" wide\n${rows}\n`);
    const account = new RowAccount(path, { skipBad: true });
    const started = performance.now();
    await readCsvRows(path, account, ["n"], () => undefined);
    expect(account.faults).toMatchObject([{ line: 2, reason: "a quote is opened and never closed" }]);
    expect(performance.now() - started).toBeLessThan(5000);
  });
  it("names a missing column and bad fields by line", async () => {
    const path = file("b.csv", "a,b\n1,2\n1\nx,2\n");
    const account = new RowAccount(path, { skipBad: true });
    await readCsvRows(path, account, ["a"], (row) => {
      if (row.number("b") !== 2) throw new BadRow("odd");
      row.number("a");
    });
    expect(account.counts()).toEqual({ read: 3, used: 1, skipped: {}, refused: 2 });
    expect(account.faults.map(({ line, reason }) => [line, reason])).toEqual([
      [3, "1 fields, the header has 2"],
      [4, '"a" must be a number ≥ 0, not "x"'],
    ]);
    const strict = new RowAccount(path, { skipBad: false });
    await expect(readCsvRows(path, strict, ["c"], () => undefined)).rejects.toThrow(
      `${path}:1: column "c" is missing`,
    );
  });
});

describe("documents", () => {
  it("names the line of a syntax error", () => {
    expect(() => parseDocument('{\n "a": [1,\n 2,],\n "b": 1}', "x.json")).toThrow(
      /^x\.json:3: not valid JSON/,
    );
    expect(() => parseDocument('{"a": "b\n"}', "x.json")).toThrow(/^x\.json:1: /);
    expect(() => parseDocument("[1]\n\n[2]", "x.json")).toThrow(/^x\.json:3: /);
    expect(() => parseDocument("", "x.json")).toThrow(/^x\.json:1: /);
  });
  it("does not let an escape hide a control character", () => {
    expect(jsonErrorOffset('"\\\u0001"')).toBe(2);
  });
  it("finds the place where a broken text breaks: never past the damage, and the end for a cut text", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 3 }), fc.nat(), (text, pick) => {
        expect(jsonErrorOffset(text)).toBe(text.length);
        const cut = text.slice(0, pick % (text.length + 1));
        try {
          JSON.parse(cut);
        } catch {
          expect(jsonErrorOffset(cut)).toBeGreaterThanOrEqual(0);
          expect(jsonErrorOffset(`${cut}\u0001`)).toBeLessThanOrEqual(cut.length);
        }
      }),
    );
  });
});
