import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../core/virtual-clock.ts";
import { anchorChildClock, type Reading } from "./child-clock.ts";

/** A child whose clock is `ahead` ms ahead of ours; each question takes `there` to it and `back` from it. */
async function anchored(ahead: number, trips: readonly (readonly [there: number, back: number])[]) {
  const clock = new VirtualClock(1000);
  let round = 0;
  const ask = (): Promise<Reading> => {
    const [there, back] = trips[round++] as readonly [number, number];
    const asked = clock.now();
    return new Promise((resolve) =>
      clock.at(asked + there + back, () =>
        resolve({ ns: (asked + there + ahead) * 1e6, at: asked + there + back }),
      ),
    );
  };
  return clock.runUntil(anchorChildClock(clock, ask, trips.length));
}

describe("another process's clock", () => {
  it("is exact where question and answer take the same time", async () => {
    const clock = await anchored(5_000_000, [
      [3, 3],
      [0.5, 0.5],
      [7, 7],
    ]);
    expect(clock.error_ms).toBeCloseTo(0.5, 6);
    expect(clock.toOurs((2000 + 5_000_000) * 1e6)).toBeCloseTo(2000, 5);
  });

  it("is off by no more than half of the narrowest round trip, however lopsided it was", async () => {
    const clock = await anchored(-300, [
      [20, 0],
      [0.25, 1.75],
      [4, 0],
    ]);
    expect(clock.error_ms).toBeCloseTo(1, 6);
    // The middle of a trip of 2 ms, of which the way there took 0.25: 0.75 late.
    expect(clock.toOurs((2000 - 300) * 1e6)).toBeCloseTo(2000.75, 5);
  });
});
