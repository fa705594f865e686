import { expect, it } from "vitest";
import { DONE, R, U } from "../stub/events.ts";
import { gaps, observe, tpot } from "../stub/observe.ts";

it("case 2: an event cut, several events in a read", async () => {
  const a = R("A");
  const d = R("D");
  const seen = await observe([
    [100, a.slice(0, 20)],
    [200, a.slice(20) + R("B") + R("C") + d.slice(0, 10)],
    [300, d.slice(10) + U(4) + DONE],
  ]);
  expect(seen.text).toBe("ABCD");
  expect(seen.first_token_ms).toBe(200);
  expect(seen.last_token_ms).toBe(300);
  expect(gaps(seen)).toEqual([0, 0, 100]);
  expect(tpot(seen)).toBeCloseTo(100 / 3, 9);
  expect(seen.failure).toBeNull();
});
