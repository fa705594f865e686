import { describe, expect, it } from "vitest";
import { record, timed, writeRun } from "../../../test/browser/made-run.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readRun } from "../../record/read-run.ts";
import type { RequestRecord } from "../../record/request-record.ts";
import { analyzeRun, type RunAnalysis } from "../summarize.ts";
import { by_prompt_length } from "./by_prompt_length.ts";
import { run_series } from "./series.ts";

async function analysisOf(records: readonly RequestRecord[]): Promise<RunAnalysis> {
  const folder = mkdtempSync(join(tmpdir(), "reprise-series-"));
  try {
    writeRun(folder, { records });
    const run = await readRun(folder);
    return await analyzeRun({ manifest: run.manifest, jobs: run.jobs(), records: run.records() });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe("the series of a run", () => {
  it("share out what lies in a second, and cut what spans several", async () => {
    const analysis = await analysisOf([
      // In flight from 0.5 to 3.25 s: half of the first second, two whole ones, a quarter of the fourth.
      record({ ...timed(500, 100, 2750), intended_ms: 0, request_id: "a", job_id: "a", output_tokens: 2 }),
      record({ ...timed(1000, 500, 1000), request_id: "b", job_id: "b", output_tokens: 4 }),
      record({
        ...timed(1500, 100, 250),
        request_id: "c",
        job_id: "c",
        status: "failed",
        failure: { code: "reset", message: "", http_status: null },
      }),
    ]);
    const series = run_series(analysis.requests, analysis.jobs);
    expect(series?.step_ms).toBe(1000);
    expect(series?.in_flight).toEqual([0.5, 1 + 1 + 0.25, 1, 0.25]);
    expect(series?.waiting_to_send).toEqual([0.5, 0, 0, 0]);
    expect(series?.requests_per_s).toEqual([0, 0, 1, 1]);
    expect(series?.failed_per_s).toEqual([0, 1, 0, 0]);
    // Two chunks each: a's tokens at 0.6 and 3.25 s, b's at 1.5 and 2 s.
    expect(series?.output_tokens_per_s).toEqual([1, 2, 2, 1]);
  });

  it("are none without an end", async () => {
    const analysis = await analysisOf([]);
    expect(run_series(analysis.requests, analysis.jobs)).toBeNull();
  });

  it("sum to the throughput of the summary, however long the run", async () => {
    const records = Array.from({ length: 50 }, (_, i) =>
      record({ ...timed(i * 17_000, 300, 9000), request_id: `r${i}`, job_id: `j${i}`, output_tokens: 3 }),
    );
    const { requests, jobs, summary } = await analysisOf(records);
    const series = run_series(requests, jobs);
    if (series === null) throw new Error("there are ends");
    const tokens = series.output_tokens_per_s.reduce((a, b) => a + b, 0) * (series.step_ms / 1000);
    expect(tokens).toBeCloseTo(150, 6);
    const busy = series.in_flight.reduce((a, b) => a + b, 0) * series.step_ms;
    expect(busy).toBeCloseTo(
      (summary.throughput.mean_concurrency as number) * (summary.window_ms as number),
      3,
    );
  });
});

describe("a metric against prompt length", () => {
  it("has exact quantiles by bin, of ok requests that tell both", async () => {
    const { requests, clip } = await analysisOf([
      ...[10, 20, 30].map((ttft, i) =>
        record({ ...timed(i, ttft, 100), request_id: `s${i}`, job_id: `s${i}`, prompt_tokens: 100 }),
      ),
      record({ ...timed(9, 500, 900), request_id: "l", job_id: "l", prompt_tokens: 100_000 }),
      record({ ...timed(9, 7, 900), request_id: "n", job_id: "n", prompt_tokens: null }),
    ]);
    const found = by_prompt_length(requests, clip, requests.metrics.ttft);
    expect(found?.n).toBe(4);
    expect(found?.bins.map(({ n, p50 }) => [n, p50 === null ? null : Math.round(p50)])).toEqual([
      [3, 20],
      [1, 500],
    ]);
    expect(found?.bins[0]?.from_tokens).toBe(100);
    expect(found?.bins.at(-1)?.to_tokens).toBe(100_000);
    expect(found?.points.tokens).toEqual([100, 100, 100, 100_000]);
  });
});
