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

  it("steady state of a run that repeats its jobs ends with the cut, a failed job's cut branch notwithstanding", async () => {
    const row = (id: string, job: string, from: number, to: number, status: "ok" | "failed" | "cancelled") =>
      record({ request_id: id, job_id: job, intended_ms: from, sent_ms: from, end_ms: to, status });
    const rows = [
      row("a", "a", 0, 1000, "ok"),
      row("b", "b", 0, 2000, "ok"),
      row("c1", "c", 1000, 2500, "failed"),
      row("c2", "c", 1000, 3000.7, "cancelled"),
      row("d", "d", 2600, 3000.6, "cancelled"),
    ];
    const { summary } = await analyse(
      rows,
      [],
      {},
      {
        plan: {
          pacing: "closed",
          max_concurrent_jobs: 2,
          duration_ms: 3000,
          repeated: { jobs: 2, requests: 2 },
        },
        end: { ended_ms: 3000.7 },
      },
    );
    expect(summary.steady_state).toEqual({ start_ms: 0, end_ms: 3000, jobs: 2, jobs_per_hour: 2400 });
  });

  it("first token of several first turns: of the first to answer, whichever comes first in the log", async () => {
    const silent = turn("a", [0, 0, NaN, NaN, 40], { first_token_ms: null, last_token_ms: null });
    const quick = turn("b", [0, 0, 20, 30, 50]);
    const slow = turn("c", [0, 0, 25, 30, 60]);
    for (const rows of [
      [silent, slow, quick],
      [quick, silent, slow],
      [slow, quick, silent],
    ])
      expect((await analyse(rows)).summary.jobs.job_first_token).toMatchObject({ n: 1, mean: 20 });
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
