/** inspect: units, arrivals, structure and accounts, on hand-made traces (case 26). */
import { describe, expect, it } from "vitest";
import { createRng } from "../core/random.ts";
import { describeArrivals } from "./arrivals.ts";
import { inspectTrace, type Inspection } from "./inspect.ts";
import { lengthPrompt, newProvenance, newRecorded, newRequest } from "./new-request.ts";
import type { TraceRequest } from "./trace-request.ts";

function inspect(requests: readonly TraceRequest[]): Inspection {
  return inspectTrace({
    format: "mooncake",
    path: "x",
    header: null,
    requests,
    rows: { read: requests.length, used: requests.length, skipped: {}, refused: 0 },
    faults: [],
    provenance: newProvenance({}),
    notes: [],
  });
}
function at(...times: (number | null)[]): TraceRequest[] {
  return times.map((arrival_ms, i) =>
    newRequest({ request_id: `r${i}`, job_id: `r${i}`, arrival_ms, prompt: lengthPrompt(10) }),
  );
}

describe("units (case 26)", () => {
  it("0, 0.2, 0.4 read as ms warns: 3 requests in 0.4 ms", () => {
    const found = inspect(at(0, 0.2, 0.4));
    expect(found.span_ms).toBe(0.4);
    expect(found.warnings).toEqual(["3 requests in 0.4 ms (5000 a second): are the timestamps in seconds?"]);
  });
  it("seconds over an hour read as ms warn; a real hour, a burst at one instant and one request do not", () => {
    const seconds = Array.from({ length: 7200 }, (_, i) => i / 2);
    expect(inspect(at(...seconds)).warnings).toHaveLength(1);
    expect(inspect(at(...seconds.map((s) => s * 1000))).warnings).toEqual([]);
    expect(inspect(at(5, 5, 5)).warnings).toEqual([]);
    expect(inspect(at(5)).warnings).toEqual([]);
  });
  it("a handful of requests at fractions of a second warns too; the same in whole ms does not", () => {
    expect(inspect(at(0, 1.5, 3.25, 9)).warnings).toHaveLength(1);
    expect(inspect(at(0, 2, 3, 9)).warnings).toHaveLength(0);
  });
  it.each([
    ["seconds", 1.7e9, 1],
    ["microseconds", 1.7e15, 1e6],
    ["nanoseconds", 1.7e18, 1e9],
  ])("Unix time in %s read as ms warns; in ms, and an offset of a day, do not", (unit, first, second) => {
    const times = [0, 60, 3600].map((s) => first + s * second);
    expect(inspect(at(...times)).warnings.join()).toContain(`looks like Unix time in ${unit}`);
    expect(inspect(at(1.7e12, 1.7e12 + 60_000)).warnings).toEqual([]);
    expect(inspect(at(86_400_000, 86_460_000)).warnings).toEqual([]);
  });
  it("nanoseconds read as ms warn", () => {
    expect(inspect(at(0, 1e9, 2e9)).warnings[0]).toContain("are the timestamps finer than milliseconds?");
  });
  it("epoch ms become offsets, with the day told", () => {
    const found = inspect(at(1_700_000_000_000, 1_700_000_001_500));
    expect(found.span_ms).toBe(1500);
    expect(found.notes[0]).toContain("2023-11-14T22:13:20.000Z");
  });
  it("span is 0 for one time, null without", () => {
    expect(inspect(at(7)).span_ms).toBe(0);
    expect(inspect(at(null, null)).span_ms).toBeNull();
    expect(inspect(at(null, 3)).span_ms).toBe(0);
  });
});

describe("arrivals", () => {
  it("rate and gaps by hand", () => {
    const found = describeArrivals([3000, 0, 1000, 1000]);
    expect(found).toMatchObject({
      n: 4,
      first_ms: 0,
      span_ms: 3000,
      rate_per_s: 1,
      distinct: 3,
      largest_burst: 2,
    });
    expect(found?.gap_ms).toMatchObject({ n: 3, mean: 1000, min: 0, max: 2000 });
    // Gaps 1000, 0, 2000: std √(2/3)·1000.
    expect(found?.cv).toBeCloseTo(Math.sqrt(2 / 3), 12);
    expect(describeArrivals([])).toBeNull();
    expect(describeArrivals([4, 4])).toMatchObject({ rate_per_s: null, cv: null });
  });
  it("tells Poisson from a clock that ticks: CV near 1, no step; every ~3 s in bursts; whole seconds", () => {
    const rng = createRng("arrivals");
    let now = 0;
    const poisson = Array.from({ length: 5000 }, () => (now += rng.exponential(0.01)));
    expect(describeArrivals(poisson)?.cv).toBeCloseTo(1, 1);
    expect(describeArrivals(poisson)?.quantum_ms).toBeNull();
    const ticks = poisson.map((time) => Math.round(Math.floor(time / 3000) * 3000 + rng.integer(0, 0)));
    const jittered = new Map<number, number>();
    const late = ticks.map((time) => {
      if (!jittered.has(time)) jittered.set(time, time + rng.integer(-1, 1));
      return jittered.get(time) as number;
    });
    expect(describeArrivals(late)?.quantum_ms).toBeCloseTo(3000, -1);
    expect(describeArrivals(poisson.map((time) => Math.floor(time / 1000) * 1000))?.quantum_ms).toBe(1000);
    expect(describeArrivals([0, 1000, 2000])?.quantum_ms).toBeNull();
  });
});

describe("structure and think times", () => {
  it("a fork that joins, beside a single request", () => {
    const row = (request_id: string, after: string[], arrival_ms: number, end_ms: number): TraceRequest =>
      newRequest({
        request_id,
        job_id: "j",
        after,
        arrival_ms,
        prompt: lengthPrompt(10),
        recorded: newRecorded({ end_ms, output_tokens: 3 }),
      });
    const found = inspect([
      row("a", [], 0, 100),
      row("b", ["a"], 150, 300),
      row("c", ["a"], 90, 400),
      row("d", ["b", "c"], 500, 600),
      ...at(7),
    ]);
    expect(found).toMatchObject({
      jobs: 2,
      turns: 5,
      prompt_tokens: 50,
      output_tokens: 12,
      turns_without_output_tokens: 1,
    });
    expect(found.structure).toMatchObject({
      multi_turn_jobs: 1,
      parallel_jobs: 1,
      max_width: 2,
      joins: 1,
      forks: 1,
    });
    expect(found.structure.job_depth).toMatchObject({ min: 1, max: 3 });
    // 50, 0 (−10), 100.
    expect(found.think_time).toMatchObject({ recorded: 0, inferred: 3, missing: 0, negative_gaps: 1 });
    expect(found.think_time.think_ms).toMatchObject({ n: 3, mean: 50, min: 0, max: 100 });
    expect(found.notes).toEqual([
      "1 turns came before the recorded end of their parent; their think time is 0",
    ]);
  });
  it("says where think time is unknown", () => {
    const rows = [0, 1].map((i) =>
      newRequest({ request_id: `r${i}`, job_id: "j", turn: i, arrival_ms: i, prompt: lengthPrompt(1) }),
    );
    expect(inspect(rows).notes[0]).toBe(
      "think time is unknown for 1 turns (no end of the turn before); it counts as 0",
    );
  });
});
