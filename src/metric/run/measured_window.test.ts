/** The measured window, and the rates and peaks in it. Worked by hand. */
import { describe, expect, it } from "vitest";
import { summarize } from "../../../test/support/analyse-records.ts";
import { record, streamed } from "../../../test/support/run-samples.ts";
import { exitCodeOf } from "../exit-code.ts";

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
