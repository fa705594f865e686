/** Budgets of jobs, and what an early end of the run makes of them. Values worked by hand. */
import { describe, expect, it } from "vitest";
import { analyse, turn } from "../../../test/support/analyse-records.ts";
import { failed, plannedJob, record } from "../../../test/support/run-samples.ts";
import type { RequestRecord } from "../../record/request-record.ts";
import { readCalibration } from "../calibration.ts";
import { parseJobBudget } from "./job_budget.ts";

describe("budgets", () => {
  const job = (id: string, start: number, end: number, more: Partial<RequestRecord> = {}): RequestRecord =>
    record({ request_id: id, job_id: id, intended_ms: start, sent_ms: start, end_ms: end, ...more });

  it("judges each job by its own budget, else by --job-budget; exactly the budget is within", async () => {
    const { summary, jobs } = await analyse(
      [job("a", 0, 100), job("b", 0, 100.001), job("c", 0, 5000)],
      [plannedJob("a", 1), plannedJob("b", 1), plannedJob("c", 1, { budget_ms: 6000 })],
      { jobBudget: "100ms" },
    );
    expect([0, 1, 2].map((i) => jobs.row(i).outcome)).toEqual(["within", "over", "within"]);
    expect(summary.jobs.budget).toEqual({ jobs: 3, text: "100ms", sources: { trace: 1, flag: 2 } });
    expect(summary.jobs.budget_miss_rate).toBeCloseTo(1 / 3, 12);
  });

  it("tells over, censored and not started when the run ended first", async () => {
    const { summary, jobs } = await analyse(
      [
        job("done", 0, 100),
        // One of two turns: 9500 ms since its start.
        job("long", 500, 700),
        job("cut", 9500, 10_000, { status: "cancelled" }),
        // Failed and cancelled turns: failed.
        { ...failed(0, 5, "timeout"), job_id: "bad", request_id: "bad1" },
        job("bad2", 5, 10_000, { job_id: "bad", status: "cancelled" }),
      ],
      [
        plannedJob("done", 1),
        plannedJob("long", 2),
        plannedJob("cut", 1),
        plannedJob("bad", 2),
        plannedJob("waiting", 1, { start_ms: 1000 }),
        plannedJob("due", 1, { start_ms: 9999 }),
        plannedJob("later", 1, { start_ms: 10_001 }),
        plannedJob("slot", 1),
      ],
      { jobBudget: "5s" },
      { end: { ended_ms: 10_000, interrupted: true }, plan: { jobs: 8, requests: 10 } },
    );
    expect(
      Array.from({ length: 8 }, (_, i) => jobs.row(i)).map((row) => `${row.status} ${row.outcome}`),
    ).toEqual([
      "ok within",
      "unfinished over",
      "unfinished censored",
      "failed over",
      "unfinished over",
      "unfinished censored",
      "unfinished not_started",
      "unfinished not_started",
    ]);
    expect(summary.jobs.counts).toEqual({
      total: 8,
      ok: 1,
      failed: 1,
      unfinished: 6,
      censored: 2,
      not_started: 2,
      over_budget: 3,
    });
    expect(summary.jobs.budget_miss_rate).toBe(3 / 4);
  });

  it("blames no job for the time in which the interrupted run only waited for what was in flight", async () => {
    // Stopped at 1 s; the last answer came at 6 s. Due at 1.5 s: never to be sent. Due at 0.9 s: overdue when it stopped.
    const { jobs } = await analyse(
      [job("flight", 800, 6000)],
      [
        plannedJob("flight", 1),
        plannedJob("after", 1, { start_ms: 1500 }),
        plannedJob("before", 1, { start_ms: 900 }),
      ],
      { jobBudget: "2s" },
      {
        end: { ended_ms: 6000, stopped_ms: 1000, interrupted: true, not_sent: 2 },
        plan: { jobs: 3, requests: 3 },
      },
    );
    expect([0, 1, 2].map((i) => jobs.row(i).outcome)).toEqual(["over", "not_started", "over"]);
  });

  it("has no share without a budget", async () => {
    const bad = { ...failed(0, 5, "timeout"), job_id: "bad", request_id: "bad1" };
    const { summary, jobs } = await analyse([job("a", 0, 1), bad], [plannedJob("a", 1)]);
    expect([jobs.row(0).outcome, jobs.row(1).outcome]).toEqual([null, null]);
    expect(summary.jobs.counts.over_budget).toBeNull();
    expect(summary.jobs.budget_miss_rate).toBeNull();
    expect(summary.throughput.jobs_in_budget_per_hour).toBeNull();
  });

  it("takes 2x from a calibration pass, with this run's think times, else from the recorded time", async () => {
    async function* pass(): AsyncGenerator<RequestRecord[]> {
      const alone: [string, number][] = [
        ["a", 100],
        ["b", 50],
        ["c", 300],
        ["d", 10],
      ];
      yield alone.map(([request_id, ms]) => record({ request_id, sent_ms: 7, end_ms: 7 + ms }));
    }
    // a (loaded 400), after 1000 of thinking b and c, after 20 d. Unloaded: 100 + 1000 + max(50, 300) + 20 + 10.
    const rows = [
      turn("a", [0, 0, 1, 400, 400]),
      turn("b", [1400, 1400, 1401, 2900, 2900], { after: ["a"] }),
      turn("c", [1400, 1400, 1401, 1800, 1800], { after: ["a"] }),
      turn("d", [2920, 2920, 2921, 2930, 2930], { after: ["b", "c"] }),
    ];
    const planned = [plannedJob("j", 4, { recorded_ms: 1000 })];
    const calibrated = await analyse(rows, planned, { jobBudget: "2x" }, {}, await readCalibration(pass()));
    expect(calibrated.jobs.row(0)).toMatchObject({
      budget_ms: 2 * 1430,
      budget_source: "calibration",
      outcome: "over",
    });
    const recorded = await analyse(rows, planned, { jobBudget: "3x" });
    expect(recorded.jobs.row(0)).toMatchObject({
      budget_ms: 3000,
      budget_source: "recorded",
      outcome: "within",
    });
    expect(recorded.summary.jobs.budget).toEqual({ jobs: 1, text: "3x", sources: { recorded: 1 } });
    const unknown = await analyse(rows, [plannedJob("j", 4)], { jobBudget: "3x" });
    expect(unknown.summary.jobs.counts.over_budget).toBeNull();
  });

  it("parses budgets, and refuses zero and nonsense", () => {
    expect(parseJobBudget("30s")).toEqual({ kind: "absolute", ms: 30_000, text: "30s" });
    expect(parseJobBudget(" 2.5x ")).toEqual({ kind: "relative", factor: 2.5, text: "2.5x" });
    for (const text of ["0", "0x", "-1s", "x", "2y", ""])
      expect(() => parseJobBudget(text)).toThrow(/--job-budget/);
  });
});
