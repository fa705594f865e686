import * as fc from "fast-check";
import { expect, it } from "vitest";
import { ListPool } from "./list-pool.ts";

it("gives back what it was given, however much of it was shared", () => {
  const list = fc.array(fc.nat({ max: 2 }), { maxLength: 30 });
  const step = fc.record({ keep: fc.nat({ max: 40 }), more: list, base: fc.option(fc.nat({ max: 30 })) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const pool = new ListPool();
      const kept: { place: number; items: number[] }[] = [];
      for (const { keep, more, base } of steps) {
        const from = base === null ? undefined : kept[base % Math.max(kept.length, 1)];
        const items = [...(from?.items.slice(0, keep) ?? []), ...more];
        kept.push({ place: pool.add(Int32Array.from(items), items.length, from?.place), items });
      }
      for (const { place, items } of kept) {
        expect(pool.length(place)).toBe(items.length);
        expect([...pool.list(place)]).toEqual(items);
      }
    }),
  );
});

it("holds a long history once, and equal lists without a chain", () => {
  const pool = new ListPool();
  let place = NaN;
  for (let turn = 1; turn <= 300; turn++) {
    const items = Int32Array.from({ length: 10 * turn }, (_, i) => i);
    place = pool.add(items, items.length, place);
  }
  for (let again = 0; again < 5000; again++) place = pool.add(pool.list(place).slice(), 3000, place);
  expect(pool.list(place)[2999]).toBe(2999);
});
