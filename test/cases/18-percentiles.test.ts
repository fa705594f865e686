import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { replay } from "../../src/cli/commands/replay.ts";
import { report } from "../../src/cli/commands/report.ts";
import { describeSamples } from "../../src/core/quantile.ts";
import { scratch, traceFile } from "../cli/run-cli.ts";
import { runCommand, summaryOf } from "../support/run-command.ts";

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);

describe("case 18: percentiles", () => {
  // numpy.percentile's default, by hand: position (n − 1)·p, linear between neighbours.
  it.each([
    [[10, 20, 30], 99, 29.8],
    [upTo(100), 50, 50.5],
    [upTo(100), 99, 99.01],
    [upTo(100), 7, 7.93],
    [upTo(10).map((i) => i * 10), 90, 91],
    [[100, 9, 25], 50, 25],
    [[5], 99, 5],
    [[1, 2], 0, 1],
    [[1, 2], 100, 2],
    [[-3, 3], 50, 0],
  ])("%j p%d is %d", (samples, p, value) => {
    expect(describeSamples(samples, [p])[`p${p}`]).toBeCloseTo(value, 9);
  });

  it("does not change the samples it was given, nor depends on their order", () => {
    const samples = [100, 9, 25];
    describeSamples(samples, [50]);
    expect(samples).toEqual([100, 9, 25]);
    expect(describeSamples([25, 100, 9], [10, 50])).toEqual(describeSamples(samples, [10, 50]));
  });

  it("p99.9 is printed as p99.9 everywhere", async () => {
    const rows = upTo(3).map((i) => ({
      request_id: `r${i}`,
      job_id: `j${i}`,
      arrival_ms: 0,
      prompt: "hi",
      expected_output_tokens: 2,
      max_tokens: 2,
    }));
    const out = join(scratch(), "run");
    const words = [traceFile(rows), "--backend", "sim", "--virtual-time", "--out", out, "--json"];
    const run = await runCommand(replay, [...words, "--percentiles", "7,99.9"]);
    const e2e = summaryOf(run.out).requests["e2e"];
    expect(Object.keys(e2e ?? {}).filter((key) => key.startsWith("p"))).toEqual(["p7", "p99.9"]);
    for (const format of ["terminal", "md", "csv"]) {
      const table = format === "csv" ? ["--table", "metrics"] : [];
      expect((await runCommand(report, [out, "--format", format, ...table])).out).toContain("p99.9");
    }
  });
});
