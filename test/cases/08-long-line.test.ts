import { describe, expect, it } from "vitest";
import { DONE, FIN, R } from "../stub/events.ts";
import { observeSteps } from "../stub/observe.ts";
import { response } from "../stub/wire.ts";

async function run(bytes: number): Promise<number> {
  const whole = response([R("x".repeat(bytes)) + FIN("stop") + DONE]);
  const steps = [];
  for (let at = 0; at < whole.length; at += 16 * 1024)
    steps.push({ at: 1, bytes: whole.subarray(at, at + 16 * 1024) });
  const before = process.cpuUsage();
  const seen = await observeSteps(steps);
  const { user, system } = process.cpuUsage(before);
  expect(seen.failure).toBeNull();
  expect(seen.text?.length).toBe(bytes);
  return user + system;
}

describe("case 8: one line of 4 MiB, of 8 MiB", () => {
  it("costs linear time", async () => {
    await run(1 << 20);
    const ratios: number[] = [];
    for (let i = 0; i < 5; i++) {
      const four = await run(4 << 20);
      ratios.push((await run(8 << 20)) / four);
    }
    ratios.sort((a, b) => a - b);
    expect(ratios[0]).toBeLessThanOrEqual(2.5);
  });
});
