/** Jobs: critical path, causes, budgets, the engine split, steady state. Values worked by hand, and by property. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  failed,
  manifest,
  type ManifestParts,
  plannedJob,
  record,
} from "../../../test/support/run-samples.ts";
import type { PlannedJobRecord } from "../../record/manifest.ts";
import type { RequestRecord } from "../../record/request-record.ts";
import { type Calibration, readCalibration } from "../calibration.ts";
import { type RunAnalysis, analyzeRun } from "../summarize.ts";
import { type SummaryFlags, parseSummaryOptions } from "../summary-options.ts";
import { CAUSES } from "./causes.ts";
import { criticalPath } from "./critical_path.ts";
import { lowerEnvelope } from "./engine_split.ts";
import { parseJobBudget } from "./job_budget.ts";

function analyse(
  records: RequestRecord[],
  jobs: PlannedJobRecord[] = [],
  flags: SummaryFlags = {},
  parts: ManifestParts = {},
  calibration: Calibration | null = null,
): Promise<RunAnalysis> {
  return analyzeRun({ manifest: manifest(parts), jobs, records, calibration }, parseSummaryOptions(flags));
}

/** A turn of job `j`: due, sent, first token, last token, end. */
function turn(id: string, times: number[], more: Partial<RequestRecord> = {}): RequestRecord {
  const [intended_ms, sent_ms, first, last, end_ms] = times as [number, number, number, number, number];
  return record({
    request_id: id,
    job_id: "j",
    intended_ms,
    sent_ms,
    first_token_ms: first,
    last_token_ms: last,
    end_ms,
    ...more,
  });
}

const server = (prefill_ms: number | null, queue_ms: number | null = null): Partial<RequestRecord> => ({
  engine: { queue_ms, prefill_ms, decode_ms: null, cached_tokens: null, source: "sim" },
});

describe("critical path", () => {
  it("adds the causes of a fork-join up to the job's time", async () => {
    // a, then b and c in parallel, then d when both are done.
    const rows = [
      turn("a", [100, 110, 150, 200, 205], { slot_ms: 104, connect_ms: 5, ...server(30) }),
      turn("b", [1205, 1205, 1300, 1400, 1400], { after: ["a"], think_ms: 1000 }),
      turn("c", [1205, 1206, 1250, 1800, 1810], { after: ["a"], think_ms: 1000, ...server(44) }),
      turn("d", [1860, 1860, 2000, 2100, 2100], { after: ["b", "c"], think_ms: 50, ...server(null, 100) }),
    ];
    const { summary, jobs } = await analyse(rows);
    expect(criticalPath(jobs.view(0))).toEqual([
      { row: 0, tool_ms: 0 },
      { row: 2, tool_ms: 1000 },
      { row: 3, tool_ms: 50 },
    ]);
    expect(summary.jobs.breakdown_ms).toEqual({
      tool: 1050,
      client: 1 + 1,
      slot: 4,
      connect: 5,
      engine_queue: 40 - 30 + 0 + 100,
      prefill: 30 + 44 + 40,
      decode: 50 + 550 + 100,
      tail: 5 + 10,
      unsplit: 0,
    });
    expect(summary.jobs.job_e2e.mean).toBe(2000);
    expect(summary.jobs.job_answer.mean).toBe(1900);
    expect(summary.jobs.job_first_token.mean).toBe(50);
    expect(summary.jobs.queueing.mean).toBe(10 + 0 + 1 + 0);
    expect(summary.jobs.engine_split).toEqual({
      basis: "server",
      server: 3,
      estimated: 0,
      sources: ["sim"],
      estimated_from: null,
    });
    expect(summary.jobs.dominated_by).toEqual({ tool: 1 });
  });

  it("takes the latest turn that ended in time as predecessor of one released by time", async () => {
    const rows = [
      turn("a", [0, 0, 10, 20, 20]),
      turn("b", [0, 0, 10, 90, 90]),
      turn("c", [100, 100, 110, 120, 120]),
      // Still running when d is due: not its predecessor.
      turn("e", [50, 50, 60, 160, 160]),
      turn("d", [150, 155, 160, 300, 300]),
    ];
    const { jobs, summary } = await analyse(rows);
    expect(criticalPath(jobs.view(0))).toEqual([
      { row: 1, tool_ms: 0 },
      { row: 2, tool_ms: 10 },
      { row: 4, tool_ms: 30 },
    ]);
    expect(summary.jobs.breakdown_ms.tool).toBe(40);
    expect(summary.jobs.breakdown_ms.client).toBe(5);
  });

  it("counts a late root's gap to the job's start as tool time", async () => {
    const rows = [turn("a", [0, 0, 10, 500, 500]), turn("b", [400, 400, 410, 900, 900])];
    const { jobs } = await analyse(rows);
    expect(criticalPath(jobs.view(0))).toEqual([{ row: 1, tool_ms: 400 }]);
  });

  it("puts a turn without a first token into unsplit", async () => {
    const rows = [record({ job_id: "j", intended_ms: 0, sent_ms: 3, end_ms: 803 })];
    const { summary } = await analyse(rows);
    expect(summary.jobs.breakdown_ms).toMatchObject({ unsplit: 800, client: 3, prefill: 0, decode: 0 });
    expect(summary.jobs.engine_split.basis).toBeNull();
    expect(summary.jobs.job_first_token.n).toBe(0);
  });

  it("survives parents that are unknown, or wait for each other", async () => {
    const rows = [
      turn("a", [0, 0, 10, 20, 20], { after: ["b"] }),
      turn("b", [20, 20, 30, 40, 40], { after: ["a", "nobody", "b"] }),
    ];
    const { summary } = await analyse(rows);
    const total = Object.values(summary.jobs.breakdown_ms).reduce((sum: number, ms) => sum + (ms ?? 0), 0);
    expect(total).toBe(40);
  });

  it("property: the causes of any DAG add up to job_e2e, job by job and in the mean", async () => {
    const part = fc.double({ min: 0, max: 5000, noNaN: true });
    const node = fc.record({
      parents: fc.array(fc.nat(), { maxLength: 3 }),
      parts: fc.array(part, { minLength: 7, maxLength: 7 }),
      kind: fc.constantFrom("tokens", "plain", "server"),
      timed: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(node, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 4 }),
        async (all) => {
          const rows: RequestRecord[] = [];
          for (const [j, nodes] of all.entries()) {
            const own: RequestRecord[] = [];
            for (const [i, { parents, parts, kind, timed }] of nodes.entries()) {
              const [think, slot, late, connect, ttft, decode, tail] = parts as [
                number,
                number,
                number,
                number,
                number,
                number,
                number,
              ];
              const before =
                i === 0 || timed ? [] : [...new Set(parents.map((p) => own[p % i] as RequestRecord))];
              const intended_ms =
                before.length === 0 ? think : Math.max(...before.map((p) => p.end_ms as number)) + think;
              const sent_ms = intended_ms + slot + late + connect;
              const tokens = kind !== "plain";
              own.push(
                record({
                  request_id: `${j}.${i}`,
                  job_id: `job${j}`,
                  intended_ms,
                  slot_ms: slot > 0 ? intended_ms + slot : null,
                  sent_ms,
                  connect_ms: connect,
                  first_token_ms: tokens ? sent_ms + ttft : null,
                  last_token_ms: tokens ? sent_ms + ttft + decode : null,
                  end_ms: sent_ms + ttft + decode + tail,
                  prompt_tokens: Math.round(think),
                  after: before.map((p) => p.request_id),
                  ...(kind === "server" ? server(late) : {}),
                }),
              );
            }
            rows.push(...own);
          }
          const { summary, jobs } = await analyse(rows);
          for (let job = 0; job < jobs.n; job++) {
            const { breakdown_ms, metrics } = jobs.row(job);
            const sum = CAUSES.reduce((total, cause) => total + (breakdown_ms?.[cause] ?? NaN), 0);
            expect(sum).toBeCloseTo(metrics.job_e2e as number, 6);
            for (const cause of CAUSES) expect(breakdown_ms?.[cause]).toBeGreaterThanOrEqual(-1e-6);
          }
          const mean = CAUSES.reduce((total, cause) => total + (summary.jobs.breakdown_ms[cause] ?? NaN), 0);
          expect(mean).toBeCloseTo(summary.jobs.job_e2e.mean as number, 6);
          const dominated = Object.values(summary.jobs.dominated_by).reduce((sum, n) => sum + n, 0);
          expect(dominated).toBe(all.length);
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe("the split of ttft", () => {
  it("is an estimate from the lower envelope where the server does not tell", async () => {
    const at = (id: string, tokens: number, ttft: number, cached = 0): RequestRecord =>
      record({
        request_id: id,
        sent_ms: 0,
        first_token_ms: ttft,
        last_token_ms: ttft,
        end_ms: ttft,
        prompt_tokens: tokens,
        cached_tokens: cached,
      });
    // Unloaded 100 tokens take 20, 1100 take 120; 600 lie at 70 between them; 100 uncached of 900 at 20.
    const rows = [at("a", 100, 20), at("b", 1100, 120), at("c", 600, 270), at("d", 900, 50, 800)];
    const { jobs, summary } = await analyse(rows);
    const split = [0, 1, 2, 3].map((job) => jobs.row(job).breakdown_ms);
    expect(split.map((own) => own?.prefill)).toEqual([20, 120, 70, 20]);
    expect(split.map((own) => own?.engine_queue)).toEqual([0, 0, 200, 30]);
    expect(summary.jobs.engine_split).toMatchObject({ basis: "estimate", estimated_from: "envelope" });
  });

  it("is scaled to the engine's own mean prefill time where its counters were scraped", async () => {
    const at = (id: string, tokens: number, ttft: number): RequestRecord =>
      record({
        request_id: id,
        sent_ms: 0,
        first_token_ms: ttft,
        last_token_ms: ttft,
        end_ms: ttft,
        prompt_tokens: tokens,
      });
    // Envelope 40, 80, 80: scaled by half it is 20, 40, 40, the mean of which is 100 ÷ 3.
    const rows = [at("a", 100, 40), at("b", 200, 80), at("c", 200, 500)];
    const end = { engine: { prefill_mean_ms: 100 / 3 } };
    const { jobs, summary } = await analyse(rows, [], {}, { end });
    const prefill = [0, 1, 2].map((job) => jobs.row(job).breakdown_ms?.prefill as number);
    for (const [i, want] of [20, 40, 40].entries()) expect(prefill[i]).toBeCloseTo(want, 6);
    expect(summary.jobs.engine_split).toMatchObject({ basis: "estimate", estimated_from: "engine_counters" });
    // More than the ttfts hold: all of ttft is prefill.
    const all = await analyse(rows, [], {}, { end: { engine: { prefill_mean_ms: 1e9 } } });
    expect(all.summary.jobs.breakdown_ms.engine_queue).toBeCloseTo(0, 6);
  });

  it("never takes more than the ttft, and mixes with what the server tells", async () => {
    const rows = [
      turn("a", [0, 0, 40, 50, 50], { ...server(100), job_id: "a" }),
      turn("b", [0, 0, 40, 50, 50], { job_id: "b", prompt_tokens: 10 }),
    ];
    const { jobs, summary } = await analyse(rows);
    expect(jobs.row(0).breakdown_ms).toMatchObject({ prefill: 40, engine_queue: 0 });
    expect(summary.jobs.engine_split).toMatchObject({ basis: "mixed", server: 1, estimated: 1 });
  });

  it("property: the envelope lies below every point, is convex and never falls", () => {
    const point = fc.record({
      tokens: fc.integer({ min: 0, max: 5000 }),
      ttft_ms: fc.integer({ min: 0, max: 100_000 }),
    });
    fc.assert(
      fc.property(fc.array(point, { minLength: 1, maxLength: 40 }), (points) => {
        const envelope = lowerEnvelope(points);
        for (const { tokens, ttft_ms } of points)
          expect(envelope(tokens)).toBeLessThanOrEqual(ttft_ms + 1e-6);
        const most = Math.max(...points.map(({ tokens }) => tokens));
        const samples = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((i) => envelope((most * i) / 8));
        for (let i = 1; i < 9; i++)
          expect(samples[i]).toBeGreaterThanOrEqual((samples[i - 1] as number) - 1e-6);
        for (let i = 2; i < 9; i++)
          expect((samples[i] as number) + (samples[i - 2] as number)).toBeGreaterThanOrEqual(
            2 * (samples[i - 1] as number) - 1e-6,
          );
        // It touches: nothing lower is the greatest.
        const touched = points.some(({ tokens, ttft_ms }) => Math.abs(envelope(tokens) - ttft_ms) < 1e-6);
        expect(touched).toBe(true);
      }),
    );
  });

  it("prefers a calibration pass", async () => {
    async function* pass(): AsyncGenerator<RequestRecord[]> {
      yield [record({ request_id: "b", sent_ms: 5, first_token_ms: 15, end_ms: 25, prompt_tokens: 10 })];
    }
    const calibration = await readCalibration(pass());
    const rows = [turn("b", [0, 0, 40, 50, 50], { prompt_tokens: 10 })];
    const { summary } = await analyse(rows, [], {}, {}, calibration);
    expect(summary.jobs.breakdown_ms).toMatchObject({ prefill: 10, engine_queue: 30 });
    expect(summary.jobs.engine_split.estimated_from).toBe("calibration");
  });
});

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
