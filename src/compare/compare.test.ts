import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { UserError } from "../core/failure.ts";
import { percentile, sortSamples } from "../core/quantile.ts";
import { createRng, type Rng } from "../core/random.ts";
import { compareRuns } from "./compare-runs.ts";
import { judgeGates, parseGate } from "./gate.ts";
import type { JobSample, RunIdentity, RunSamples } from "./run-samples.ts";
import { makeStatistic, parseStatistic, sortedValues, weightedStatistic } from "./statistic.ts";

const METRICS = ["job_e2e", "ttft", "output_tps", "queueing"];

function identity(label: string, more: Partial<RunIdentity> = {}): RunIdentity {
  return {
    label,
    folder: null,
    trace: "t.jsonl",
    trace_sha256: "aa",
    pacing: "jobs",
    speed: 1,
    seeds: { arrivals: 1 },
    planned: { requests: 3, jobs: 3, prompt_tokens: null, span_ms: null },
    model: "m",
    backend: "openai",
    simulated: false,
    verdict: "valid",
    verdict_reasons: [],
    partial: false,
    version: "1",
    options: { max_concurrency: 8 },
    server: { version: "0.1" },
    ...more,
  };
}

/** A run whose job i took jobs[i] ms (null = failed), with its ttfts. */
function run(
  label: string,
  jobs: readonly (number | null)[],
  more: {
    ttft?: readonly (readonly number[])[];
    over?: readonly (boolean | null)[];
    identity?: Partial<RunIdentity>;
  } = {},
): RunSamples {
  const ok = jobs.flatMap((value, index) => (value === null ? [] : [{ value, index }]));
  const ttft = (more.ttft ?? []).flatMap((values, index) => values.map((value) => ({ value, index })));
  const column = (values: readonly { value: number; index: number }[]) => ({
    job: Int32Array.from(values, ({ index }) => index),
    value: Float64Array.from(values, ({ value }) => value),
  });
  return {
    identity: identity(label, more.identity),
    job_ids: jobs.map((_value, index) => `job-${index}`),
    jobs: jobs.map((value, index): JobSample => ({
      status: value === null ? "failed" : "ok",
      over_budget: more.over?.[index] ?? null,
    })),
    metrics: { job_e2e: column(ok), ...(ttft.length === 0 ? {} : { ttft: column(ttft) }) },
    failed_requests: jobs.filter((value) => value === null).length,
    sent_requests: jobs.length,
  };
}

describe("weighted statistics", () => {
  it("are those of the list in which each value stands as often as its job was drawn", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.double({ min: 0.1, max: 1e6, noNaN: true }), fc.integer({ min: 0, max: 5 })), {
          minLength: 1,
          maxLength: 40,
        }),
        fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 6, maxLength: 6 }),
        fc.constantFrom(null, 0, 7, 50, 95, 99, 99.9, 100),
        (pairs, weights, p) => {
          const sorted = pairs.toSorted((x, y) => x[0] - y[0]);
          const values = sortedValues(
            Float64Array.from(sorted, ([value]) => value),
            Int32Array.from(sorted, ([, job]) => job),
            weights.length,
          );
          const listed = sorted.flatMap(([value, job]) =>
            Array.from({ length: weights[job] ?? 0 }, () => value),
          );
          const expected =
            listed.length === 0
              ? null
              : p === null
                ? listed.reduce((sum, value) => sum + value, 0) / listed.length
                : percentile(sortSamples(listed), p);
          const got = weightedStatistic(makeStatistic("job_e2e", p), values, Int32Array.from(weights));
          if (expected === null) expect(got).toBeNull();
          else expect(Math.abs((got as number) - expected)).toBeLessThanOrEqual(1e-9 * Math.abs(expected));
        },
      ),
    );
  });
});

describe("comparison", () => {
  it("takes the ratio of the statistic over jobs ok in both, and lists what changed status", () => {
    const a = run("a", [100, 200, 300, 400, 500, 10_000, null]);
    const b = run("b", [110, 220, 330, 440, 550, null, 1]);
    const comparison = compareRuns(a, b);
    expect(comparison.paired_jobs).toBe(5);
    const mean = comparison.rows.find(({ statistic }) => statistic.text === "mean(job_e2e)");
    // Means 300 and 330: the slow job that failed in b is in neither.
    expect(mean).toMatchObject({ a: 300, b: 330 });
    expect(mean?.ratio).toBeCloseTo(1.1, 12);
    expect(mean?.interval?.low).toBeCloseTo(1.1, 9);
    expect(mean?.verdict).toBe("worse");
    expect(comparison.status_changes).toEqual([
      { job_id: "job-5", a: "ok", b: "failed" },
      { job_id: "job-6", a: "failed", b: "ok" },
    ]);
    expect(comparison.jobs.a).toEqual({ ok: 6, failed: 1, unfinished: 0, over_budget: null });
  });

  it("swapped runs give inverse ratios and intervals", () => {
    const duration = fc.double({ min: 1, max: 1e5, noNaN: true });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.option(duration, { freq: 8 }), fc.option(duration, { freq: 8 })), {
          minLength: 6,
          maxLength: 30,
        }),
        (pairs) => {
          const a = run(
            "a",
            pairs.map(([x]) => x),
          );
          const b = run(
            "b",
            pairs.map(([, y]) => y),
          );
          const forth = compareRuns(a, b);
          const back = compareRuns(b, a);
          expect(back.paired_jobs).toBe(forth.paired_jobs);
          for (const [index, row] of forth.rows.entries()) {
            const other = back.rows[index];
            if (row.ratio === null) {
              expect(other?.ratio).toBeNull();
              continue;
            }
            expect(row.ratio * (other?.ratio ?? NaN)).toBeCloseTo(1, 9);
            if (row.interval === null) expect(other?.interval).toBeNull();
            else expect(row.interval.low * (other?.interval?.high ?? NaN)).toBeCloseTo(1, 9);
          }
        },
      ),
      { numRuns: 25 },
    );
  });

  it("another seed is a doubt only where it decides the work", () => {
    const severity = (more: Partial<RunIdentity>): string[] =>
      compareRuns(
        run("a", [1, 2, 3], { identity: more }),
        run("b", [1, 2, 3], { identity: { ...more, seeds: { arrivals: 2 } } }),
      ).concerns.map((concern) => concern.severity);
    expect(severity({})).toEqual(["note"]);
    expect(severity({ trace_sha256: null })).toEqual(["doubt"]);
    expect(severity({ options: { arrival_type: "random" } })).toEqual(["doubt"]);
    const fewer = { planned: { requests: 2, jobs: 2, prompt_tokens: null, span_ms: null } };
    expect(
      compareRuns(run("a", [1, 2, 3]), run("b", [1, 2], { identity: fewer })).concerns[0]?.text,
    ).toContain("3 jobs and 3 requests, and 2 jobs and 2 requests");
  });

  it("doubts a run that is compared with itself: a gate on it says nothing", () => {
    const one = run("a", [100, 200], { identity: { id: "1f" } });
    const same = compareRuns(one, one);
    expect(same.concerns).toMatchObject([{ severity: "doubt" }]);
    expect(() => judgeGates(same, [parseGate("p50(job_e2e) <= +5%", METRICS)])).toThrow(
      "a and a are one and the same run",
    );
    expect(compareRuns(one, run("a", [100, 200], { identity: { id: "2f" } })).concerns).toEqual([]);
  });

  it("refuses other traces, pacing and speed; doubts verdicts; notes seeds and versions", () => {
    const a = run("a", [1, 2, 3]);
    for (const other of [
      { trace_sha256: "bb" },
      { pacing: "closed" },
      { speed: 2 },
      { trace_sha256: null },
    ]) {
      expect(() => compareRuns(a, run("b", [1, 2, 3], { identity: other })), JSON.stringify(other)).toThrow(
        UserError,
      );
    }
    const doubtful = compareRuns(
      a,
      run("b", [1, 2, 3], {
        identity: {
          seeds: { arrivals: 2 },
          verdict: "degraded",
          verdict_reasons: ["interrupted"],
          version: "2",
        },
      }),
    );
    expect(doubtful.concerns.map(({ severity }) => severity)).toEqual(["note", "doubt", "note"]);
    expect(() => judgeGates(doubtful, [parseGate("p50(job_e2e) <= +5%", METRICS)])).toThrow(
      /degraded: interrupted/,
    );
  });

  it("tells what changed in the options and in the server, and the noise between repeats", () => {
    const a = run("a", [100, 200, 300]);
    const b = run("b", [100, 200, 300], {
      identity: {
        options: { max_concurrency: 16, engine: { cuda_graphs: false }, out: "x" },
        server: { version: "0.2" },
      },
    });
    const comparison = compareRuns(a, b, { repeats: [[a, run("a2", [110, 220, 330])], [b]] });
    expect(comparison.option_changes).toEqual([
      { key: "engine.cuda_graphs", a: null, b: false },
      { key: "max_concurrency", a: 8, b: 16 },
    ]);
    expect(comparison.server_changes).toEqual([{ key: "version", a: "0.1", b: "0.2" }]);
    expect(comparison.rows[0]?.noise).toBeCloseTo(1.1, 12);
  });

  it("runs that all failed are never better: nothing is measured, and every gate fails (case 17)", () => {
    const comparison = compareRuns(run("a", [100, 200, 300]), run("b", [null, null, null]));
    expect(comparison.rows.every((row) => row.ratio === null && row.verdict === "unclear")).toBe(true);
    const verdict = judgeGates(comparison, [parseGate("p99(job_e2e) <= +5%", METRICS)]);
    expect(verdict.passed).toBe(false);
    expect(verdict.results[0]?.outcome).toBe("failed");
    expect(verdict.regressions).toEqual(["failed jobs: 0 before, 3 now", "failed requests: 0 before, 3 now"]);
    // Nor is a lone failure with nothing else changed.
    const jobs = [100, 200, 300, 400, 500, 600];
    const one = compareRuns(run("a", jobs), run("b", [...jobs.slice(0, 5), null]));
    expect(judgeGates(one, [parseGate("p50(job_e2e) <= +5%", METRICS)]).passed).toBe(false);
  });
});

describe("gates", () => {
  it("reads what people write", () => {
    expect(parseGate("p99(job_e2e) <= +5%", METRICS)).toMatchObject({
      direction: "<=",
      unit: "ratio",
      tolerance: 0.05,
    });
    expect(parseGate("mean( ttft )≤20ms", METRICS)).toMatchObject({ unit: "ms", tolerance: 20 });
    expect(parseGate("mean(ttft) <= +0.5s", METRICS)).toMatchObject({ unit: "ms", tolerance: 500 });
    expect(parseGate("p50(output_tps) >= -5%", METRICS)).toMatchObject({ direction: ">=", tolerance: -0.05 });
    expect(parseGate("p50(job_e2e) <= -10%", METRICS)).toMatchObject({ tolerance: -0.1 });
    expect(parseGate("budget_miss_rate <= +1%", METRICS)).toMatchObject({ unit: "points", tolerance: 0.01 });
  });

  it("refuses what it cannot mean", () => {
    for (const text of [
      "p99(job_e2e)",
      "p99(job_e2e) < 5%",
      "p99(job_e2e) <= 5",
      "p99(job_e2e) >= -5%",
      "p101(job_e2e) <= 5%",
      "p99(job_e2) <= 5%",
      "job_e2e <= 5%",
      "budget_miss_rate <= 5ms",
      "budget_miss_rat <= 1%",
      "p99(output_tps) <= 5%",
      "",
    ]) {
      expect(() => parseGate(text, METRICS), text).toThrow(UserError);
    }
    expect(() => parseStatistic("p99(job_e2)", METRICS, "x")).toThrow(/no metric/);
  });

  it("late jobs fail every gate by themselves, and a rate has its own gate", () => {
    const jobs = Array.from({ length: 100 }, () => 100);
    const over = (count: number) => jobs.map((_value, index) => index < count);
    const a = run("a", jobs, { over: over(2) });
    const fewer = compareRuns(a, run("b", jobs, { over: over(1) }));
    expect(judgeGates(fewer, [parseGate("budget_miss_rate <= +1%", METRICS)]).passed).toBe(true);
    const many = judgeGates(compareRuns(a, run("b", jobs, { over: over(30) })), [
      parseGate("budget_miss_rate <= +1%", METRICS),
    ]);
    expect(many.results[0]).toMatchObject({ outcome: "failed", change: 0.28 });
    expect(many.regressions).toEqual(["jobs over budget: 2 before, 30 now"]);
  });

  it("catches a true 10 % regression and not noise: 200 seeded trials", () => {
    /** Job times differ by a factor of several; a run adds 6 % noise to each job and 1 % to all. */
    const trial = (rng: Rng, factor: number): boolean => {
      const truth = Array.from({ length: 120 }, () => rng.logNormal(Math.log(8000), 0.6));
      const once = (scale: number): number[] => {
        const drift = rng.logNormal(0, 0.01);
        return truth.map((value) => value * scale * drift * rng.logNormal(0, 0.06));
      };
      const comparison = compareRuns(run("a", once(1)), run("b", once(factor)), {
        statistics: [],
        seed: rng.integer(0, 1e9),
      });
      return judgeGates(comparison, [parseGate("mean(job_e2e) <= +3%", METRICS)]).passed;
    };
    const rng = createRng("trials");
    let caught = 0;
    let falseAlarms = 0;
    for (let i = 0; i < 200; i++) {
      if (!trial(rng.fork(`worse-${i}`), 1.1)) caught++;
      if (!trial(rng.fork(`same-${i}`), 1)) falseAlarms++;
    }
    console.log(
      `gate mean(job_e2e) <= +3 %: caught ${caught} of 200 true regressions of 10 %, ${falseAlarms} false alarms in 200`,
    );
    expect(caught).toBeGreaterThanOrEqual(195);
    expect(falseAlarms).toBeLessThanOrEqual(2);
  });

  it("with repeats of both sides the runs are the unit: chance between runs raises no more alarms than promised", () => {
    // Whole runs differ by 3 %: resampling jobs alone cannot see that.
    const trial = (rng: Rng, factor: number, repeats: number): boolean => {
      const truth = Array.from({ length: 60 }, () => rng.logNormal(Math.log(8000), 0.6));
      const once = (scale: number): RunSamples => {
        const drift = rng.logNormal(0, 0.03);
        return run(
          "r",
          truth.map((value) => value * scale * drift * rng.logNormal(0, 0.06)),
        );
      };
      const side = (scale: number): RunSamples[] => Array.from({ length: repeats }, () => once(scale));
      const [a, b] = [side(1), side(factor)];
      const more = { a: a.slice(1), b: b.slice(1) };
      const comparison = compareRuns(a[0] as RunSamples, b[0] as RunSamples, { statistics: [], more });
      return judgeGates(comparison, [parseGate("mean(job_e2e) <= 0%", METRICS)]).passed;
    };
    const rng = createRng("repeats");
    const failing = (factor: number, repeats: number): number =>
      Array.from({ length: 200 }, (_unused, i) =>
        trial(rng.fork(`${factor}/${repeats}/${i}`), factor, repeats),
      ).filter((passed) => !passed).length;
    const alone = failing(1, 1);
    const [same2, same4, worse4] = [failing(1, 2), failing(1, 4), failing(1.1, 4)];
    console.log(
      `3 % noise between runs, gate <= 0 %, alarms in 200: one run a side ${alone}, two ${same2}, four ${same4}; 10 % caught with four: ${worse4}`,
    );
    expect(alone).toBeGreaterThan(30);
    expect(same2).toBeLessThanOrEqual(11);
    expect(same4).toBeLessThanOrEqual(11);
    expect(worse4).toBeGreaterThanOrEqual(180);
  });

  it("several runs a side: geometric means, Student's interval, inverse when swapped, failures by run", () => {
    // Jobs all alike: resampling them gives no width, so the interval is the runs' own, by hand:
    // logs 0 and ln 1.2 against ln 1.1 and ln 1.3; pooled s^2 = (ln(1.2)^2 + ln(1.3/1.1)^2) / 4, t(2) = 4.303, both n = 2.
    const times = (value: number): number[] => Array.from({ length: 8 }, () => value);
    const [a1, a2, b1, b2] = [100, 120, 110, 130].map((value) => run(`r${value}`, times(value))) as [
      RunSamples,
      RunSamples,
      RunSamples,
      RunSamples,
    ];
    const forth = compareRuns(a1, b1, { more: { a: [a2], b: [b2] } });
    const [row] = forth.rows;
    const ratio = Math.sqrt((110 * 130) / (100 * 120));
    const spread = Math.sqrt((Math.log(1.2) ** 2 + Math.log(130 / 110) ** 2) / 4);
    expect(row?.a).toBeCloseTo(Math.sqrt(12_000), 9);
    expect(row?.ratio).toBeCloseTo(ratio, 12);
    expect(row?.interval?.low).toBeCloseTo(ratio * Math.exp(-4.303 * spread), 9);
    expect(row?.interval?.high).toBeCloseTo(ratio * Math.exp(4.303 * spread), 9);
    const back = compareRuns(b1, a1, { more: { a: [b2], b: [a2] } }).rows[0];
    expect((back?.interval?.low as number) * (row?.interval?.high as number)).toBeCloseTo(1, 12);
    // Milliseconds: means 110 and 120, pooled s^2 = (200 + 200) / 2.
    const verdict = judgeGates(forth, [parseGate("mean(job_e2e) <= +5ms", METRICS)]);
    expect(verdict.results[0]?.change).toBeCloseTo(10, 9);
    expect(verdict.results[0]?.interval?.low).toBeCloseTo(10 - 4.303 * Math.sqrt(200), 9);
    // One side alone tells nothing of the other's noise: no width is made up.
    expect(compareRuns(a1, b1, { more: { a: [a2], b: [] } }).rows[0]?.interval?.low).toBeCloseTo(
      110 / Math.sqrt(12_000),
      9,
    );
    const failing = run("f", [null, ...times(110).slice(1)]);
    const once = judgeGates(compareRuns(a1, failing, { more: { a: [a2], b: [b2] } }), []);
    expect(once.regressions[0]).toBe("failed jobs: 0 in 2 runs before, 1 in 2 runs now");
    const doubted = run("d", times(100), { identity: { verdict: "client-limited" } });
    expect(() => judgeGates(compareRuns(a1, b1, { more: { a: [doubted], b: [] } }), [])).toThrow(
      /d is client-limited/,
    );
  });

  it("a gate without tolerance is exact about chance: at most the rate its 95 % interval promises", () => {
    const rng = createRng("coverage");
    let alarms = 0;
    for (let i = 0; i < 200; i++) {
      const stream = rng.fork(String(i));
      const truth = Array.from({ length: 60 }, () => stream.logNormal(Math.log(8000), 0.6));
      const once = (): number[] => truth.map((value) => value * stream.logNormal(0, 0.06));
      const comparison = compareRuns(run("a", once()), run("b", once()), { statistics: [] });
      if (!judgeGates(comparison, [parseGate("mean(job_e2e) <= 0%", METRICS)]).passed) alarms++;
    }
    console.log(`gate mean(job_e2e) <= 0 %: ${alarms} alarms in 200 pairs of equal runs (2.5 % promised: 5)`);
    expect(alarms).toBeLessThanOrEqual(14);
  });
});
