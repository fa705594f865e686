import { describe, expect, it } from "vitest";
import { compareRuns } from "./compare-runs.ts";
import { judgeGates, parseGate } from "./gate.ts";
import { comparisonJson, renderComparisonMarkdown, renderComparisonTerminal } from "./render-comparison.ts";
import type { RunSamples } from "./run-samples.ts";

function run(label: string, jobs: readonly number[], version: string): RunSamples {
  return {
    identity: {
      label,
      folder: `runs/${label}`,
      trace: "t",
      trace_sha256: "aa",
      pacing: "jobs",
      speed: 1,
      seeds: {},
      planned: { requests: 6, jobs: 6, prompt_tokens: null, span_ms: null },
      model: "m",
      backend: "openai",
      simulated: false,
      verdict: "valid",
      verdict_reasons: [],
      partial: false,
      version: "1",
      options: {},
      server: { version },
    },
    job_ids: jobs.map((_v, index) => `j${index}`),
    jobs: jobs.map(() => ({ status: "ok" as const, over_budget: null })),
    metrics: { job_e2e: { job: Int32Array.from(jobs.keys()), value: Float64Array.from(jobs) } },
    failed_requests: 0,
    sent_requests: jobs.length,
  };
}

const before = run("main", [1000, 2000, 3000, 4000, 5000, 6000], "0.31");
const after = run("pr|<b>\u001b[31m", [1200, 2400, 3600, 4800, 6000, 7200], "0.32");

describe("rendering a comparison", () => {
  const comparison = compareRuns(before, after);
  const gate = judgeGates(comparison, [parseGate("p50(job_e2e) <= +5%", ["job_e2e"])]);

  it("terminal: aligned, with the change, its interval and what differs; no control characters", () => {
    const text = renderComparisonTerminal(comparison, gate);
    // Medians 3500 and 4200.
    expect(text).toMatch(/p50\(job_e2e\) +3\.5 s +4\.2 s +\+20\.0 % +\+20\.0 % … \+20\.0 % +– +worse/);
    expect(text).toContain('server version: "0.31" → "0.32"');
    expect(text).toContain("FAIL  p50(job_e2e) <= +5%: +20.00 %, 95 % interval +20.00 % to +20.00 %");
    // eslint-disable-next-line no-control-regex
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
  });

  it("Markdown: hostile labels break nothing", () => {
    const text = renderComparisonMarkdown(comparison, gate);
    expect(text).toContain("### Gate: **failed**");
    expect(text).toContain("**pr\\|&lt;b&gt;");
    const rows = text.split("\n").filter((line) => line.startsWith("| ") && line.includes("job"));
    expect(rows).toHaveLength(3);
    for (const row of rows) expect(row.match(/(?<!\\)\|/g)).toHaveLength(8);
  });

  it("JSON: unrounded, keyed by statistic", () => {
    const json = JSON.parse(JSON.stringify(comparisonJson(comparison, gate)));
    expect(json.statistics["mean(job_e2e)"]).toMatchObject({
      a: 3500,
      b: 4200,
      verdict: "worse",
      noise: null,
    });
    expect(json.statistics["mean(job_e2e)"]).toMatchObject({ n: { a: 6, b: 6 }, low_sample: false });
    expect(json.statistics["p99(job_e2e)"].low_sample).toBe(true);
    expect(json.gate.passed).toBe(false);
    expect(json.paired_jobs).toBe(6);
  });
});
