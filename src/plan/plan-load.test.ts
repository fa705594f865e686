import { describe, expect, it } from "vitest";
import { load } from "../../test/support/load-requests.ts";
import { describeSamples } from "../core/quantile.ts";
import { UserError } from "../core/failure.ts";
import { rampRate } from "./arrivals/ramp.ts";
import { type LoadOptions, planLoad } from "./plan-load.ts";

const offsets = (n: number, options: Partial<LoadOptions>): number[] =>
  planLoad(load(n), options).requests.map((r) => (r.release.kind === "at" ? r.release.offset_ms : NaN));
const gaps = (times: readonly number[]) => times.slice(1).map((t, i) => t - (times[i] as number));

describe("rate", () => {
  it.each([
    [0.5, 1.41],
    [1, 1],
    [4, 0.5],
  ])("burstiness %f: mean gap 0.100 s, CV %f (case 23)", (burstiness, cv) => {
    for (const normalize of [true, false]) {
      const g = describeSamples(gaps(offsets(20_001, { rate: 10, burstiness, normalize, seed: 5 })));
      expect(Math.abs((g.mean as number) / 100 - 1)).toBeLessThan(0.03);
      expect((g.std as number) / (g.mean as number)).toBeCloseTo(cv, 1);
    }
  });

  it("is normalised to (N-1)/rate unless raw gaps are asked for", () => {
    expect(offsets(101, { rate: 10 }).at(-1)).toBe(10_000);
    expect(offsets(101, { rate: 10 })[0]).toBe(0);
    expect(offsets(101, { rate: 10, normalize: false }).at(-1)).not.toBeCloseTo(10_000, 3);
    for (const rate of [0.21, 0.425]) expect(offsets(10, { rate }).at(-1)).toBeCloseTo(9000 / rate, 6);
  });

  it("is constant at burstiness inf, and all at once at rate inf", () => {
    expect(offsets(5, { rate: 8, burstiness: Infinity })).toEqual([0, 125, 250, 375, 500]);
    expect(offsets(4, {})).toEqual([0, 0, 0, 0]);
  });

  it("survives a burstiness so small that all gaps vanish", () => {
    const times = offsets(5, { rate: 1, burstiness: 1e-300 });
    expect(times.every((t) => Number.isFinite(t))).toBe(true);
    expect(times.at(-1)).toBe(4000);
  });

  it("is the same for the same seed", () => {
    expect(offsets(50, { rate: 3, seed: 9 })).toEqual(offsets(50, { rate: 3, seed: 9 }));
    expect(offsets(50, { rate: 3, seed: 9 })).not.toEqual(offsets(50, { rate: 3, seed: 10 }));
  });

  it("releases by slot at rate inf with a cap, by time at a finite rate with a cap", () => {
    const free = planLoad(load(3), { max_concurrency: 2 });
    expect(free.requests.map((r) => r.release)).toEqual(load(3).map(() => ({ kind: "slot", delay_ms: 0 })));
    expect([free.max_concurrency, free.span_ms, free.pacing]).toEqual([2, null, "load"]);
    const timed = planLoad(load(3), { max_concurrency: 2, rate: 10, burstiness: Infinity });
    expect(timed.requests.map((r) => r.release.kind)).toEqual(["at", "at", "at"]);
    expect([timed.max_concurrency, timed.span_ms]).toEqual([2, 200]);
  });
});

describe("ramps", () => {
  it("linear and exponential rates of gap i = 1..N-1, by hand", () => {
    const linear = { strategy: "linear", start: 0, end: 10 } as const;
    // N = 5: p = 1/4, 2/4, 3/4, 1 → 2.5, 5, 7.5, 10 req/s → gaps 400, 200, 133.3, 100 ms.
    expect([1, 2, 3, 4].map((i) => rampRate(linear, i, 5))).toEqual([2.5, 5, 7.5, 10]);
    const times = offsets(5, { ramp: linear, burstiness: Infinity });
    [0, 400, 600, 733.333333, 833.333333].forEach((t, i) => expect(times[i]).toBeCloseTo(t, 5));
    const exponential = { strategy: "exponential", start: 1, end: 16 } as const;
    expect([1, 2, 3, 4].map((i) => rampRate(exponential, i, 5))).toEqual([2, 4, 8, 16]);
    expect(offsets(5, { ramp: exponential, burstiness: Infinity })).toEqual([0, 500, 750, 875, 937.5]);
  });

  it("draws gamma gaps around the ramp's rate", () => {
    // A flat ramp is a rate: mean gap 100 ms, CV 1.
    const g = describeSamples(gaps(offsets(20_001, { ramp: { strategy: "linear", start: 10, end: 10 } })));
    expect(Math.abs((g.mean as number) / 100 - 1)).toBeLessThan(0.03);
    expect((g.std as number) / (g.mean as number)).toBeCloseTo(1, 1);
  });

  it("one request needs no gap", () => {
    expect(offsets(1, { ramp: { strategy: "linear", start: 0, end: 1 } })).toEqual([0]);
  });
});

describe("the rest", () => {
  it("takes given times in time order, the first at 0", () => {
    const times = [5000, 4000, 4000, 9000];
    const p = planLoad(
      load(4, (i) => times[i] as number),
      { arrivals: "given" },
    );
    expect(p.requests.map((r) => [r.request_id, r.release])).toEqual([
      ["r1", { kind: "at", offset_ms: 0 }],
      ["r2", { kind: "at", offset_ms: 0 }],
      ["r0", { kind: "at", offset_ms: 1000 }],
      ["r3", { kind: "at", offset_ms: 5000 }],
    ]);
  });

  it("assigns LoRA modules round robin or at random, without shifting the arrivals", () => {
    const lora = { modules: ["a", "b", "c"], assignment: "round-robin" } as const;
    expect(planLoad(load(5), { lora }).requests.map((r) => r.request.model)).toEqual([
      "a",
      "b",
      "c",
      "a",
      "b",
    ]);
    const random = planLoad(load(600), { rate: 5, lora: { ...lora, assignment: "random" } });
    const counts = lora.modules.map((m) => random.requests.filter((r) => r.request.model === m).length);
    expect(counts.reduce((x, y) => x + y)).toBe(600);
    for (const count of counts) expect(Math.abs(count - 200)).toBeLessThan(60);
    expect(random.requests.map((r) => r.release)).toEqual(
      planLoad(load(600), { rate: 5 }).requests.map((r) => r.release),
    );
  });

  it("refuses contradictions and values out of range", () => {
    const ramp = { strategy: "linear", start: 1, end: 2 } as const;
    const bad: Partial<LoadOptions>[] = [
      { rate: 0 },
      { rate: -1 },
      { burstiness: 0 },
      { burstiness: -2 },
      { burstiness: NaN },
      { ramp, rate: 3 },
      { ramp: { ...ramp, start: 3 } },
      { ramp: { ...ramp, start: -1 } },
      { ramp: { ...ramp, strategy: "exponential", start: 0 } },
      { ramp: { ...ramp, start: 0, end: 0 } },
      { max_concurrency: 0 },
      { arrivals: "given" },
      { arrivals: "given", rate: 4 },
      { lora: { modules: [], assignment: "random" } },
    ];
    for (const options of bad) {
      expect(() => planLoad(load(2), options), JSON.stringify(options)).toThrow(UserError);
    }
    expect(() => planLoad([], {})).toThrow(UserError);
  });
});
