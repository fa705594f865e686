import { expect, test } from "vitest";
import { alignColumns } from "./text-table.ts";

test("names stand left, numbers right, and wide characters count two columns", () => {
  expect(
    alignColumns([
      ["cell", "ttft", ""],
      ["両方", "9 ms", "winner"],
      ["a", "120 ms", ""],
    ]),
  ).toEqual(["cell    ttft", "両方    9 ms  winner", "a     120 ms"]);
  expect(alignColumns([])).toEqual([]);
});
