/** Rates and sums of jobs, steady state. Values worked by hand. */
import { describe, expect, it } from "vitest";
import { analyse, turn } from "../../../test/support/analyse-records.ts";
import { record } from "../../../test/support/run-samples.ts";

describe("rates of jobs", () => {
  it("steady state: from all slots filled to the first end after the last start", async () => {
    // Two slots, five jobs of different length.
    const spans = [
      [0, 1000],
      [100, 700],
      [700, 2100],
      [1000, 1500],
      [1500, 2600],
    ] as const;
    const rows = spans.map(([start, end], i) =>
      record({ request_id: `j${i}`, job_id: `j${i}`, intended_ms: start, sent_ms: start, end_ms: end }),
    );
    const closed = { plan: { pacing: "closed", max_concurrent_jobs: 2, gpus: 4 } } as const;
    const { summary } = await analyse(rows, [], {}, closed);
    // [100, 2100]: 700, 1000, 1500, 2100.
    expect(summary.steady_state).toEqual({ start_ms: 100, end_ms: 2100, jobs: 4, jobs_per_hour: 7200 });
    expect(summary.throughput.jobs_per_hour).toBeCloseTo((5 * 3_600_000) / 2600, 6);
    expect(summary.throughput.jobs_per_hour_per_gpu).toBeCloseTo((5 * 3_600_000) / 2600 / 4, 6);
    // Mean 920 ms.
    expect(summary.throughput.jobs_per_hour_per_user).toBeCloseTo(3_600_000 / 920, 6);
    const few = await analyse(rows.slice(0, 3), [], {}, closed);
    expect(few.summary.steady_state).toBeNull();
    expect((await analyse(rows)).summary.steady_state).toBeNull();
  });

  it("does not sum token counts that a turn did not tell", async () => {
    const { summary } = await analyse([
      turn("a", [0, 0, 1, 2, 2], { prompt_tokens: 5, output_tokens: 2 }),
      turn("b", [2, 2, 3, 4, 4], { prompt_tokens: null, output_tokens: 3, after: ["a"] }),
    ]);
    expect(summary.jobs.job_output_tokens.mean).toBe(5);
    expect(summary.jobs.job_prompt_tokens).toMatchObject({ n: 0, mean: null });
    expect(summary.jobs.job_turns.mean).toBe(2);
  });
});
