import { describe, expect, it } from "vitest";
import { sleep } from "../core/clock.ts";
import { VirtualClock } from "../core/virtual-clock.ts";
import type { Observation } from "../record/observation.ts";
import { startProbes } from "./probe-load.ts";
import type { SideRequests } from "./side-requests.ts";

/** Answers each probe after `service` ms; with `null` it never does. */
function probed(service: (n: number) => number | null): {
  clock: VirtualClock;
  sent: number[];
  side: SideRequests;
} {
  const clock = new VirtualClock(0, 0);
  const sent: number[] = [];
  const send = (): Promise<Observation> => {
    const at = clock.now();
    const ms = service(sent.length);
    sent.push(at);
    return new Promise((resolve) => {
      if (ms === null) return;
      clock.at(at + ms, () =>
        resolve({ failure: null, sent_ms: at, connect_ms: 0, end_ms: at + ms } as Observation),
      );
    });
  };
  return { clock, sent, side: { send } as unknown as SideRequests };
}

describe("probe load", () => {
  it("sends one after the other, each 1/rate after the last one's end, and describes their latencies", async () => {
    const { clock, sent, side } = probed((n) => [20, 30, 40][n] ?? 50);
    const probes = startProbes(side, clock, 10);
    await clock.runUntil(sleep(clock, 400));
    await clock.runUntil(probes.stop());
    // 0 (20 ms), 120 (30), 250 (40), 390 (50, still out at 400).
    expect(sent).toEqual([0, 120, 250, 390]);
    expect(probes.facts()).toEqual({
      probe_completed: 4,
      probe_failed: 0,
      probe_median_e2el_ms: 35,
      // Position 3 × 0.99 = 2.97: 40 + 0.97 × 10.
      probe_p99_e2el_ms: expect.closeTo(49.7, 9) as number,
      probe_max_e2el_ms: 50,
    });
  });

  it("stops between two probes at once, and gives up one that is never answered", async () => {
    const between = probed(() => 10);
    const first = startProbes(between.side, between.clock, 1);
    await between.clock.runUntil(sleep(between.clock, 50));
    await between.clock.runUntil(first.stop());
    expect(between.clock.now()).toBe(50);
    const stuck = probed(() => null);
    const second = startProbes(stuck.side, stuck.clock, 1);
    await stuck.clock.runUntil(second.stop());
    expect(stuck.clock.now()).toBe(5000);
    expect(second.facts()).toEqual({});
  });
});
