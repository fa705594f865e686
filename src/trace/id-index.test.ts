import * as fc from "fast-check";
import { expect, it } from "vitest";
import { IdIndex } from "./id-index.ts";

it("says what a Set says", () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.string({ maxLength: 3 }), fc.nat({ max: 40 }).map(String)), { maxLength: 200 }),
      (ids) => {
        const set = new Set<string>();
        const index = new IdIndex((position) => [...set][position] as string);
        for (const id of ids) {
          expect(index.add(id)).toBe(!set.has(id));
          set.add(id);
        }
      },
    ),
  );
  const index = new IdIndex((position) => `request-${position}`);
  for (let i = 0; i < 50_000; i++) expect(index.add(`request-${i}`)).toBe(true);
  for (let i = 0; i < 50_000; i++)
    if (index.add(`request-${i}`)) throw new Error(`request-${i} was forgotten`);
});
