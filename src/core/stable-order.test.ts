import * as fc from "fast-check";
import { expect, it } from "vitest";
import { stableOrder } from "./stable-order.ts";

it("orders as a stable sort by value does, few keys and many", () => {
  const key = fc.oneof(
    fc.double({ noNaN: true }),
    fc.integer({ min: -3, max: 3 }),
    fc.constantFrom(0, -0, 1e300),
  );
  fc.assert(
    fc.property(fc.array(key, { maxLength: 50 }), fc.boolean(), (some, many) => {
      // Above some thousand keys another way is taken.
      const keys = Float64Array.from(many ? Array.from({ length: 200 }, () => some).flat() : some);
      const expected = [...keys.keys()].sort((a, b) => {
        const [x, y] = [keys[a] as number, keys[b] as number];
        return x < y ? -1 : x > y ? 1 : a - b;
      });
      expect([...stableOrder(keys)]).toEqual(expected);
    }),
  );
});
