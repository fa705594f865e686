import * as fc from "fast-check";
import { expect, it } from "vitest";
import { NumberedTexts } from "./numbered-texts.ts";

it("numbers texts as a Map does, and gives them back", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 3 }),
    fc.constantFrom("\ud800", "\udfff", "\0", '\0"\\ud800"', "", "é", "ab"),
  );
  fc.assert(
    fc.property(fc.array(text, { maxLength: 300 }), (texts) => {
      const table = new NumberedTexts();
      const numbers = new Map<string, number>();
      for (const told of texts) {
        if (!numbers.has(told)) numbers.set(told, numbers.size);
        expect(table.internText(told)).toBe(numbers.get(told));
      }
      expect(table.size).toBe(numbers.size);
      for (const [told, number] of numbers) expect(table.text(number)).toBe(told);
    }),
  );
});

it("finds bytes without adding them; a text that is added twice has two numbers, and is told", () => {
  const table = new NumberedTexts();
  const bytes = Buffer.from("xaby");
  expect(table.find(bytes, 1, 3)).toBe(-1);
  expect(table.appendText("ab")).toBe(0);
  expect(table.find(bytes, 1, 3)).toBe(0);
  expect(table.equals(0, bytes, 1, 3)).toBe(true);
  expect(table.equals(0, bytes, 1, 4)).toBe(false);
  expect(table.firstRepeated()).toBeNull();
  expect(table.appendText("ab")).toBe(1);
  expect([table.text(1), table.firstRepeated(), table.internText("ab")]).toEqual(["ab", "ab", 0]);
});

it("holds 100 000 ids", () => {
  const table = new NumberedTexts();
  for (let i = 0; i < 100_000; i++) table.internText(`job-${i}`);
  expect(table.internText("job-77777")).toBe(77_777);
  expect(table.text(99_999)).toBe("job-99999");
});
