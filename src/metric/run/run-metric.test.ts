/** Numbers of the whole run: cases C17–C21, D22, F31 on the metric side, windows, peaks, validity. Worked by hand. */
import { describe, expect, it } from "vitest";
import {
  failed,
  manifest,
  type ManifestParts,
  plannedJob,
  record,
  skipped,
  streamed,
} from "../../../test/support/run-samples.ts";
import type { RequestRecord } from "../../record/request-record.ts";
import { exitCodeOf } from "../exit-code.ts";
import { summarizeRun } from "../summarize.ts";
import { parseSummaryOptions, type SummaryFlags } from "../summary-options.ts";
import type { Summary } from "../summary.ts";

function summarize(
  records: RequestRecord[],
  parts: ManifestParts = {},
  flags: SummaryFlags = {},
): Promise<Summary> {
  const whole = manifest({ ...parts, plan: { requests: records.length, ...parts.plan } });
  return summarizeRun({ manifest: whole, jobs: [], records }, parseSummaryOptions(flags));
}

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

describe("window and rates", () => {
  it("goes from the first intended to the last end, and places tokens where they came", async () => {
    const summary = await summarize([
      streamed(500, [600, 1600, 1700], { intended_ms: 400, prompt_tokens: 30 }),
      streamed(1000, [1400, 2400], { prompt_tokens: 10 }),
    ]);
    expect(summary.window).toEqual({ start_ms: 400, end_ms: 2400 });
    expect(summary.window_ms).toBe(2000);
    // Buckets [0,1) 1 token, [1,2) 3, [2,3) 1.
    expect(summary.throughput).toMatchObject({
      requests_per_s: 1,
      input_tokens_per_s: 20,
      output_tokens_per_s: 2.5,
      total_tokens_per_s: 22.5,
      peak_output_tokens_per_s: 3,
      peak_concurrency: 2,
      // (1200 + 1400) ÷ 2000
      mean_concurrency: 1.3,
    });
  });

  it("counts cancelled requests' tokens, and failed ones' not", async () => {
    const { throughput } = await summarize([
      streamed(0, [100, 1000]),
      { ...streamed(0, [100, 200, 300]), status: "cancelled", output_tokens: null },
      { ...streamed(0, [100, 200, 300]), status: "failed" },
    ]);
    expect(throughput.output_tokens_per_s).toBe(5);
    expect(throughput.requests_per_s).toBe(1);
  });

  it("cuts to --warmup and --duration: latencies by intended time, rates by ends and tokens", async () => {
    const rows = [
      // Intended in the warm-up, ends inside: in the rates, not in the latencies.
      streamed(500, [900, 1500]),
      streamed(1200, [1300, 1400]),
      // Intended inside, ends after: in the latencies, its first token in the rates.
      streamed(2500, [2600, 3600]),
    ];
    const plan = { warmup_ms: 1000, duration_ms: 3000 };
    const { requests, throughput, window_ms } = await summarize(rows, { plan });
    expect(window_ms).toBe(2000);
    expect(requests.e2e).toMatchObject({ n: 2, min: 200, max: 1100 });
    expect(requests.itl.n).toBe(2);
    expect(throughput.requests_per_s).toBe(1);
    expect(throughput.output_tokens_per_s).toBe(2);
    // Buckets from the window's start: [1,2) s holds 1300, 1400, 1500.
    expect(throughput.peak_output_tokens_per_s).toBe(3);
    // [1000,1500] + [1200,1400] + [2500,3000] ÷ 2000
    expect(throughput.mean_concurrency).toBe(0.6);
  });

  it("ends at the interruption", async () => {
    const summary = await summarize([streamed(0, [100, 2000])], {
      plan: { duration_ms: 60_000, requests: 50 },
      end: { interrupted: true, ended_ms: 4000, not_sent: 49, overdue: 2 },
    });
    expect(summary.window_ms).toBe(4000);
    expect(summary.validity.verdict).toBe("degraded");
    expect(summary.counts).toMatchObject({ planned: 50, sent: 1, not_sent: 49, overdue: 2 });
    expect(exitCodeOf(summary)).toBe(130);
  });

  it("spreads a known count over chunks that do not tell theirs, and over the span without chunks", async () => {
    const { chunk_ms: _, ...bare } = streamed(0, [500, 2500]);
    const { throughput } = await summarize(
      [streamed(0, [500, 1500], { output_tokens: 6 }), { ...bare, output_tokens: 5 }],
      { plan: { duration_ms: 2000 } },
    );
    // 3 + 3 by chunks; 500, 1000, 1500 of five between 500 and 2500, and 2000 on the edge.
    expect(throughput.output_tokens_per_s).toBe(5);
  });

  it("takes departures before arrivals at one instant", async () => {
    const { throughput } = await summarize([
      record({ sent_ms: 0, end_ms: 10 }),
      record({ sent_ms: 10, end_ms: 20 }),
      record({ sent_ms: 10, end_ms: 30 }),
    ]);
    expect(throughput.peak_concurrency).toBe(2);
  });

  it("has no rates for an empty run", async () => {
    const summary = await summarize([]);
    expect(summary.window_ms).toBeNull();
    expect(Object.values(summary.throughput).every((value) => value === null)).toBe(true);
    expect(exitCodeOf(summary)).toBe(1);
  });

  it("takes unknown token counts as unknown", async () => {
    const { throughput } = await summarize([record({ sent_ms: 0, end_ms: 100 })]);
    expect(throughput).toMatchObject({
      requests_per_s: 10,
      input_tokens_per_s: null,
      output_tokens_per_s: null,
      total_tokens_per_s: null,
      peak_output_tokens_per_s: null,
    });
  });
});

describe("validity", () => {
  const rows = (late: number): RequestRecord[] =>
    Array.from({ length: 100 }, (_, i) => record({ intended_ms: i, sent_ms: i + late, end_ms: i + 50 }));

  it("is client-limited when sends are late at p99", async () => {
    expect((await summarize(rows(5))).validity).toMatchObject({ verdict: "valid", reasons: [] });
    const late = await summarize(rows(6));
    expect(late.validity).toMatchObject({ verdict: "client-limited", client_limited: true });
    expect(late.validity.lateness).toMatchObject({ n: 100, p50: 6, p99: 6, max: 6, share_late: 1 });
    expect(exitCodeOf(late)).toBe(0);
    expect(exitCodeOf(late, { strictValidity: true })).toBe(4);
    expect((await summarize(rows(6), {}, { maxLateness: "10" })).validity.verdict).toBe("valid");
  });

  it("is client-limited when the loop stood still for a fifth of a second with streams open", async () => {
    const health = (stall: number): ManifestParts => ({
      end: {
        generator: {
          loop_stall_p99_ms: 1,
          loop_stall_max_ms: 900,
          loop_stall_streaming_max_ms: stall,
          cpu_share: 0.2,
          loop_utilisation: 0.2,
        },
      },
    });
    expect((await summarize(rows(0), health(199))).validity.verdict).toBe("valid");
    expect((await summarize(rows(0), health(200))).validity.verdict).toBe("client-limited");
  });

  it("says how long others held the core, where that explains what is wrong", async () => {
    const health = (core_wait_share: number): ManifestParts => ({
      end: {
        generator: {
          loop_stall_p99_ms: 1,
          loop_stall_max_ms: 2,
          loop_stall_streaming_max_ms: 2,
          cpu_share: 0.2,
          loop_utilisation: 0.2,
          core_wait_share,
        },
      },
    });
    expect((await summarize(rows(6), health(0.414))).validity.reasons[1]).toMatch(/held the core for 41 %/);
    expect((await summarize(rows(6), health(0.01))).validity.reasons).toHaveLength(1);
    expect((await summarize(rows(0), health(0.9))).validity).toMatchObject({ verdict: "valid", reasons: [] });
  });

  it("is client-limited when its own machine had nothing left for a request", async () => {
    const starved = record({
      status: "failed",
      failure: { code: "client_resource", message: "EMFILE", http_status: null },
      end_ms: 1,
    });
    const { validity } = await summarize([...rows(0), starved]);
    expect(validity.verdict).toBe("client-limited");
    expect(validity.reasons[0]).toMatch(/^1 request found no descriptors/);
  });

  it("is degraded when the run has no end, was interrupted or lost a part", async () => {
    const none = await summarize(rows(9), { end: null });
    expect(none.validity).toMatchObject({ verdict: "degraded", client_limited: true });
    expect(none.validity.reasons).toHaveLength(2);
    expect(none.run).toMatchObject({ partial: true, interrupted: false });
    expect(none.counts.overdue).toBeNull();
    // The run ended with 2 requests not sent; the log says 5: 3 records are not there.
    const gone = await summarize(rows(0), { plan: { requests: 105 }, end: { not_sent: 2 } });
    expect(gone.validity).toMatchObject({
      verdict: "degraded",
      reasons: ["3 records are missing from the log"],
    });
    expect(exitCodeOf(gone)).toBe(1);
    const lost = await summarize(rows(0), { end: { degraded: ["3 records could not be written"] } });
    expect(lost.validity).toMatchObject({
      verdict: "degraded",
      reasons: ["3 records could not be written"],
    });
  });
});

describe("fidelity and prefix cache", () => {
  it("tells planned from achieved lengths", async () => {
    const rows = [1000, 1000, 2000].map((planned, i) =>
      record({
        end_ms: 1,
        planned_prompt_tokens: planned,
        prompt_tokens: planned + [27, 27, 54][i]!,
        planned_output_tokens: 10,
        output_tokens: [10, 8, 12][i]!,
      }),
    );
    const { fidelity } = await summarize([...rows, record({ end_ms: 1, planned_prompt_tokens: 5 })]);
    expect(fidelity.prompt_tokens.n).toBe(3);
    expect(fidelity.prompt_tokens.bias_share).toBeCloseTo(0.027, 12);
    expect(fidelity.prompt_tokens.bias_tokens).toBe(36);
    // |difference| 27, 27, 54: p95 at position 1.9.
    expect(fidelity.prompt_tokens.p95_difference_tokens).toBeCloseTo(51.3, 9);
    expect(fidelity.output_tokens).toMatchObject({
      n: 3,
      bias_tokens: 0,
      bias_share: 0,
      p95_difference_tokens: 2,
    });
  });

  it("takes hit rates from the requests, else from the engine's counters", async () => {
    const rows = [
      record({ end_ms: 1, prompt_tokens: 100, cached_tokens: 90 }),
      record({
        end_ms: 1,
        prompt_tokens: 300,
        engine: { queue_ms: null, prefill_ms: null, decode_ms: null, cached_tokens: 110, source: "x" },
      }),
      record({ end_ms: 1, prompt_tokens: 999 }),
    ];
    const plan = { optimal_hit_rate: 0.75 };
    expect((await summarize(rows, { plan })).prefix_cache).toEqual({
      optimal_hit_rate: 0.75,
      hit_rate: 0.5,
      source: "requests",
      shortfall: 0.25,
      n: 2,
    });
    const silent = [record({ end_ms: 1, prompt_tokens: 100 })];
    const end = { engine: { hit_rate: 0.4 } };
    expect((await summarize(silent, { plan, end })).prefix_cache).toMatchObject({
      hit_rate: 0.4,
      source: "engine_counters",
    });
    expect((await summarize(silent, { plan })).prefix_cache).toMatchObject({
      hit_rate: null,
      source: null,
      shortfall: null,
    });
  });
});
