import * as fc from "fast-check";
import { expect, it } from "vitest";
import { JsonCursor } from "./json-cursor.ts";

it("ends a text where JSON does, wherever it stands, and takes no other", () => {
  const plain = ["a", "b", "c", "~", "é", "漢", "😀", "\u007f", "plain text of some length"];
  const special = ['\\"', "\\\\", "\\n", "\\u0041", "\\/", '"', "\\", "\u0000", "\u001f", "\t"];
  const piece = fc.constantFrom(...plain, ...plain, ...special);
  const body = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(""));
  fc.assert(
    fc.property(body, fc.nat({ max: 7 }), fc.nat({ max: 7 }), (text, shift, place) => {
      // At any distance from a word's border, in a buffer that is part of a larger one.
      const line = Buffer.from(`${" ".repeat(place)}"${text}",1\n`);
      const bytes = Buffer.from(new ArrayBuffer(line.length + shift + 8), shift, line.length);
      line.copy(bytes);
      const cursor = new JsonCursor();
      cursor.start(bytes, place);
      cursor.text();
      // The shortest beginning that is JSON, if there is one.
      let end = -1;
      for (let to = place + 2; to <= line.length && end < 0; to++) {
        if (line[to - 1] !== 0x22) continue;
        try {
          JSON.parse(line.toString("utf8", place, to));
          end = to;
        } catch {
          // not yet
        }
      }
      const own = end < 0 ? "" : line.toString("utf8", place + 1, end - 1);
      // Escapes that can be written in two ways are left to others.
      const taken = end >= 0 && !/\\[u/]/.test(own.replaceAll("\\\\", ""));
      expect(cursor.lost).toBe(!taken);
      if (taken) expect([cursor.from, cursor.to, cursor.at]).toEqual([place + 1, end - 1, end]);
    }),
    { numRuns: 2000 },
  );
});
