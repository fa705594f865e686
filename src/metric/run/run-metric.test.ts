/** Numbers of the whole run: cases C17–C21, D22, F31 on the metric side. Worked by hand. */
import { describe, expect, it } from "vitest";
import { summarize } from "../../../test/support/analyse-records.ts";
import {
  failed,
  manifest,
  plannedJob,
  record,
  skipped,
  streamed,
} from "../../../test/support/run-samples.ts";
import type { RequestRecord } from "../../record/request-record.ts";
import { exitCodeOf } from "../exit-code.ts";
import { summarizeRun } from "../summarize.ts";
import { parseSummaryOptions } from "../summary-options.ts";
import type { Summary } from "../summary.ts";

describe("statistics", () => {
  it("C17: all failed: strict JSON, nothing measured, exit not 0", async () => {
    const summary = await summarize([failed(0, 2, "http_5xx"), failed(1, 5, "reset")]);
    const again = JSON.parse(JSON.stringify(summary)) as Summary;
    expect(again).toEqual(summary);
    for (const metric of Object.values(summary.requests)) expect(metric).toMatchObject({ n: 0, mean: null });
    expect(summary.failed_requests.e2e).toMatchObject({ n: 2, mean: 3 });
    expect(summary.failures).toEqual({ reset: 1, http_5xx: 1 });
    expect(summary.throughput.requests_per_s).toBe(0);
    expect(summary.jobs.job_e2e).toMatchObject({ n: 0, mean: null });
    expect(exitCodeOf(summary)).toBe(1);
  });

  it.each([
    [[10, 20, 30], 99, 29.8],
    [Array.from({ length: 100 }, (_, i) => i + 1), 50, 50.5],
    [Array.from({ length: 100 }, (_, i) => i + 1), 99, 99.01],
    [Array.from({ length: 100 }, (_, i) => i + 1), 7, 7.93],
    [[10, 20, 30, 40, 50, 60, 70, 80, 90, 100], 90, 91],
    [[100, 9, 25], 50, 25],
    [[1, 1001], 99.9, 1000],
  ])("C18: percentile of %j at %d is %d", async (values, p, want) => {
    const { requests } = await summarize(
      values.map((end) => record({ sent_ms: 0, end_ms: end })),
      {},
      { percentiles: String(p) },
    );
    expect(requests.e2e[`p${p}`]).toBeCloseTo(want, 9);
  });

  it("lists percentiles that stand on too few samples", async () => {
    const of = async (n: number): Promise<unknown> =>
      (await summarize(Array.from({ length: n }, () => record({ sent_ms: 0, end_ms: 5 })))).requests.e2e
        .low_sample;
    expect(await of(99)).toEqual(["p99"]);
    expect(await of(100)).toBeUndefined();
    expect(await of(19)).toEqual(["p95", "p99"]);
  });

  it("refuses a log that holds a request twice", async () => {
    const one = record({ request_id: "a", end_ms: 5 });
    await expect(summarize([one, record({ end_ms: 5 }), { ...one, end_ms: 6 }])).rejects.toThrow(
      /the log holds request "a" twice/,
    );
  });

  it("C19: fast failures are in no latency", async () => {
    const summary = await summarize([
      ...[0, 1, 2, 3].map((at) => record({ sent_ms: at, end_ms: at + 1000 })),
      ...[0, 1, 2, 3, 4, 5].map((at) => failed(at, at + 2, "http_5xx")),
    ]);
    expect(summary.requests.e2e).toMatchObject({ n: 4, mean: 1000 });
    expect(summary.counts).toMatchObject({ sent: 10, ok: 4, failed: 6 });
    expect(summary.counts.failed / summary.counts.sent).toBe(0.6);
    expect(exitCodeOf(summary, { maxFailureRate: 0.6 })).toBe(0);
    expect(exitCodeOf(summary, { maxFailureRate: 0.59 })).toBe(1);
  });

  it("C20: goodput is inclusive, and a reply of one token has no tpot to miss", async () => {
    const chunks = (first: number, gap: number): number[] =>
      Array.from({ length: 11 }, (_, i) => first + gap * i);
    const rows = [
      streamed(0, chunks(100, 20)),
      streamed(0, [100]),
      streamed(0, chunks(250, 10)),
      failed(0, 3, "http_5xx"),
      record({ sent_ms: 0, end_ms: 50, output_tokens: 0 }),
    ];
    const flags = { goodput: "ttft:200 tpot:25" };
    const { goodput } = await summarize(rows, { plan: { duration_ms: 10_000 } }, flags);
    expect(goodput).toEqual({
      objectives: { ttft: 200, tpot: 25 },
      good: 2,
      rate_per_s: 0.2,
      share: 0.4,
    });
    // Exactly 200, also where the difference of doubles is 200.00000000000003.
    expect(300.1 - 100.1).toBeGreaterThan(200);
    const edge = [streamed(0, [200]), streamed(100.1, [300.1]), streamed(0, [200.001])];
    expect((await summarize(edge, {}, { goodput: "ttft:200" })).goodput?.good).toBe(2);
  });

  it("counts overdue requests against goodput, skipped ones not", async () => {
    const rows = [streamed(0, [100]), skipped()];
    const { goodput, requests } = await summarize(
      rows,
      { plan: { requests: 6 }, end: { overdue: 3, not_sent: 4 } },
      { goodput: "e2el:100" },
    );
    expect(goodput).toMatchObject({ good: 1, share: 0.25 });
    expect(requests.response).toMatchObject({ n: 1, censored: 3 });
  });

  it("C21: 256 failures are not exit 0", async () => {
    const rows = Array.from({ length: 256 }, (_, i) => failed(i, i + 1, "connect"));
    expect(exitCodeOf(await summarize([...rows, record({ end_ms: 1 })]))).toBe(1);
    expect(exitCodeOf(await summarize(rows))).toBe(1);
  });

  it("D22: waiting for a slot is in the response time, not in the service time", async () => {
    // One slot, 500 ms each, due at 0, 100, ..., 700.
    const rows = Array.from({ length: 8 }, (_, i) =>
      record({ intended_ms: 100 * i, slot_ms: 500 * i, sent_ms: 500 * i, end_ms: 500 * (i + 1) }),
    );
    const { requests, throughput } = await summarize(rows);
    expect(requests.slot_wait.mean).toBe(1400);
    expect(requests.e2e).toMatchObject({ min: 500, max: 500 });
    expect(requests.response).toMatchObject({ mean: 1900, p99: 3272, max: 3300 });
    expect(requests.lateness).toMatchObject({ n: 8, max: 0 });
    expect(throughput).toMatchObject({ peak_concurrency: 1, mean_concurrency: 1, requests_per_s: 2 });
  });

  it("F31: a failed turn fails its job, skips its descendants, and counts as over budget", async () => {
    const turn = (job: string, n: number, sent: number): RequestRecord =>
      record({
        request_id: `${job}${n}`,
        job_id: job,
        turn: n,
        sent_ms: sent,
        end_ms: sent + 1000,
        after: n > 1 ? [`${job}${n - 1}`] : [],
      });
    const records = [
      turn("A", 1, 0),
      turn("B", 1, 0),
      { ...failed(1000, 1005, "http_5xx"), request_id: "A2", job_id: "A", turn: 2, after: ["A1"] },
      skipped({ request_id: "A3", job_id: "A", turn: 3, after: ["A2"], intended_ms: 1005 }),
      turn("B", 2, 1000),
      turn("B", 3, 2000),
    ];
    const summary = await summarizeRun(
      {
        manifest: manifest({ plan: { requests: 6, jobs: 2 }, end: { ended_ms: 3000 } }),
        jobs: [plannedJob("A", 3), plannedJob("B", 3)],
        records,
      },
      parseSummaryOptions({ jobBudget: "3s" }),
    );
    expect(summary.counts).toMatchObject({ planned: 6, sent: 5, ok: 4, failed: 1, skipped: 1, not_sent: 0 });
    expect(summary.jobs.counts).toEqual({
      total: 2,
      ok: 1,
      failed: 1,
      unfinished: 0,
      censored: 0,
      not_started: 0,
      over_budget: 1,
    });
    expect(summary.jobs.budget_miss_rate).toBe(0.5);
    expect(summary.jobs.job_e2e).toMatchObject({ n: 1, mean: 3000 });
    expect(summary.throughput.jobs_per_hour).toBe(1200);
    expect(summary.throughput.jobs_in_budget_per_hour).toBe(1200);
  });
});
