import { describe, expect, it } from "vitest";
import { manifest, record, streamed } from "../../test/support/run-samples.ts";
import { UserError } from "../core/failure.ts";
import { exitCodeOf } from "./exit-code.ts";
import { parseGoodput } from "./run/goodput.ts";
import { parseSlo } from "./slo.ts";
import { summarizeRun } from "./summarize.ts";
import { parsePercentiles, parseSummaryOptions } from "./summary-options.ts";

describe("parseSlo", () => {
  it.each([
    ["p99(ttft) <= 500ms", "ttft", "p99", "<=", 500],
    ["mean(e2e)<2s", "e2e", "mean", "<", 2000],
    ["p99.9( itl ) <= 50", "itl", "p99.9", "<=", 50],
    ["median(jobs.job_e2e) <= 1.5m", "job_e2e", "p50", "<=", 90_000],
    ["P50(output_tps) >= 20", "output_tps", "p50", ">=", 20],
    ["max(requests.lateness) <= 5", "lateness", "max", "<=", 5],
    ["requests.ttft.p99.9 <= 5", "ttft", "p99.9", "<=", 5],
    ["job_e2e.mean < 5s", "job_e2e", "mean", "<", 5000],
  ])("%s", (text, metric, statistic, operator, bound) => {
    expect(parseSlo(text)).toMatchObject({
      subject: { kind: "distribution", metric, statistic },
      operator,
      bound,
    });
  });

  it.each([
    ["budget_miss_rate <= 1%", "budget_miss_rate", 0.01],
    ["failure_rate <= 0.05", "failure_rate", 0.05],
    ["throughput.requests_per_s >= 10", "throughput.requests_per_s", 10],
    ["jobs_per_hour > 1e3", "jobs_per_hour", 1000],
  ])("%s", (text, name, bound) => {
    expect(parseSlo(text)).toMatchObject({ subject: { kind: "scalar", name }, bound });
  });

  it.each([
    ["p99(tttf) <= 5", /unknown metric "tttf"/, "did you mean ttft?"],
    ["budget_mis_rate <= 1%", /unknown metric/, "did you mean budget_miss_rate?"],
    ["ttft <= 5", /is a distribution/, /p99\(ttft\)/],
    ["p101(ttft) <= 5", /unknown statistic "p101"/, /p0 to p100/],
    ["avg(ttft) <= 5", /unknown statistic/, /mean/],
    ["p99(ttft) = 5", /not an objective/, /write/],
    ["p99(ttft)", /not an objective/, /write/],
    ["p99(ttft) <= 5%", /percentage/, /write/],
    ["p99(ttft) <= fast", /not a duration/, /500ms/],
    ["p99(ttft) <= -5", /not a duration/, /500ms/],
    ["jobs_per_hour >= 5s", /not a number/, /write/],
    ["budget_miss_rate <= 1", /is 1 a share or a percentage\?/, /^write 1% or 100%$/],
    ["failure_rate <= 5", /is 5 a share or a percentage\?/, /^write 5%$/],
    ["", /not an objective/, /write/],
  ] as const)("refuses %j", (text, message, hint) => {
    let thrown: unknown = null;
    try {
      parseSlo(text);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(UserError);
    expect((thrown as UserError).message).toMatch(message);
    expect((thrown as UserError).hint).toMatch(hint);
  });
});

describe("objectives", () => {
  const judge = async (...slo: string[]): Promise<[number | null, boolean][]> => {
    const records = [streamed(0, [100]), streamed(0, [300.1], { intended_ms: 0, sent_ms: 100.1 })];
    const { objectives } = await summarizeRun(
      { manifest: manifest(), jobs: [], records },
      parseSummaryOptions({ slo }),
    );
    return objectives.map(({ value, met }) => [value, met]);
  };

  it("are inclusive where they say so, whatever the last bit of a difference", async () => {
    // 300.1 − 100.1 = 200.00000000000003
    expect(
      (await judge("max(ttft) <= 200", "max(ttft) < 200", "max(ttft) >= 200")).map(([, met]) => met),
    ).toEqual([true, false, true]);
  });

  it("compute a percentile that nobody else asked for", async () => {
    expect((await judge("p25(ttft) <= 125ms"))[0]?.[0]).toBeCloseTo(125, 9);
  });

  it("are not met by what was not measured", async () => {
    expect(await judge("p99(tpot) <= 1h", "budget_miss_rate <= 100%")).toEqual([
      [null, false],
      [null, false],
    ]);
  });

  it("decide the exit code", async () => {
    const code = async (slo: string): Promise<number> =>
      exitCodeOf(
        await summarizeRun(
          { manifest: manifest(), jobs: [], records: [record({ sent_ms: 0, end_ms: 10 })] },
          parseSummaryOptions({ slo }),
        ),
      );
    expect(await code("p99(e2e) <= 10ms")).toBe(0);
    expect(await code("p99(e2e) < 10ms")).toBe(1);
  });
});

describe("flags", () => {
  it("parses goodput as vLLM writes it", () => {
    expect(parseGoodput(["ttft:200", "tpot:50 e2el:2000"])).toEqual([
      { name: "ttft", metric: "ttft", bound: 200 },
      { name: "tpot", metric: "tpot", bound: 50 },
      { name: "e2el", metric: "e2e", bound: 2000 },
    ]);
    for (const text of [
      "ttfts:200",
      "ttft",
      "ttft:",
      "ttft:-1",
      "ttft:x",
      "ttft:1:2",
      "ttft:1 ttft:2",
      "constructor:1",
    ])
      expect(() => parseGoodput([text]), text).toThrow(UserError);
    expect(() => parseGoodput(["ttfts:200"])).toThrow(/unknown metric "ttfts"/);
  });

  it("parses percentiles", () => {
    expect(parsePercentiles("50, 99.9,7,50")).toEqual([50, 99.9, 7]);
    for (const text of ["", "101", "-1", "p50", "1e1", "NaN"])
      expect(() => parsePercentiles(text)).toThrow(UserError);
  });
});
