/** Closed runs by DESIGN's rules: N jobs at a time, copies, staggered starts, durations, budgets. Hand arithmetic throughout. */
import { describe, expect, it } from "vitest";
import { compare } from "../../src/cli/commands/compare.ts";
import { runCommand } from "../support/run-command.ts";
import { exactRun, turn } from "./exact-run.ts";

const HOUR = 3_600_000;
/** 100 ms and 300 ms alone. */
const TWO = [turn("a", "j", 10, { arrival_ms: 0 }), turn("b", "k", 30, { arrival_ms: 1000 })];
const closed = (jobs: number, ...more: string[]): string[] => [
  "--pacing",
  "closed",
  "--max-concurrency",
  String(jobs),
  ...more,
];

describe("N jobs at a time", () => {
  it("one: copies follow round by round, each the instant the slot is free", async () => {
    const run = await exactRun(TWO, closed(1, "--copies", "2"));
    expect(run.times("a")).toEqual([0, 0, 10, 100]);
    expect(run.times("b")).toEqual([100, 100, 110, 400]);
    expect(run.times("a~1")).toEqual([400, 400, 410, 500]);
    expect(run.times("b~1")).toEqual([500, 500, 510, 800]);
    expect(run.summary.jobs.queueing).toMatchObject({ n: 4, max: 0 });
    expect(run.summary.throughput.jobs_per_hour).toBeCloseTo((4 * HOUR) / 800, 9);
    expect(run.summary.steady_state).toEqual({
      start_ms: 0,
      end_ms: 800,
      jobs: 4,
      jobs_per_hour: (4 * HOUR) / 800,
    });
  });

  it("two: the steady state ends with the first job to end after the last start", async () => {
    const run = await exactRun(TWO, closed(2, "--copies", "2"));
    expect(run.times("a~1")).toEqual([100, 100, 110, 200]);
    expect(run.times("b~1")).toEqual([200, 200, 210, 500]);
    // Full from 0 on; the last start is at 200, b ends at 300: a, a~1 and b are credited, b~1 is not.
    expect(run.summary.steady_state).toEqual({
      start_ms: 0,
      end_ms: 300,
      jobs: 3,
      jobs_per_hour: (3 * HOUR) / 300,
    });
    expect(run.summary.throughput.jobs_per_hour).toBeCloseTo((4 * HOUR) / 500, 9);
  });

  it("has no steady state below 2N jobs", async () => {
    const run = await exactRun([...TWO, turn("c", "l", 5, { arrival_ms: 2000 })], closed(2));
    expect(run.summary.steady_state).toBeNull();
  });

  it("starts the first N apart, with jitter from the seed; later ones when a slot is free", async () => {
    const jobs = ["p", "q", "r", "s"].map((job, i) => turn(job, job, 10, { arrival_ms: i }));
    const even = await exactRun(jobs, closed(3, "--stagger", "30ms"));
    expect(["p", "q", "r"].map((id) => even.records.get(id)?.sent_ms)).toEqual([0, 30, 60]);
    expect(even.records.get("s")?.sent_ms).toBe(100);
    expect(even.job("q").metrics.job_e2e).toBe(100);
    const jittered = await exactRun(jobs, closed(3, "--stagger", "30ms", "--stagger-jitter", "20ms"));
    const starts = ["p", "q", "r"].map((id) => jittered.records.get(id)?.intended_ms as number);
    starts.forEach((start, i) => {
      expect(start).toBeGreaterThanOrEqual(30 * i);
      expect(start).toBeLessThan(30 * i + 20);
      expect(start).not.toBe(30 * i);
    });
    const again = await exactRun(jobs, closed(3, "--stagger", "30ms", "--stagger-jitter", "20ms"));
    expect(again.records.get("q")?.intended_ms).toBe(starts[1]);
  });
});

describe("a duration", () => {
  it("keeps N jobs under way until it is over, with fresh copies; only begun ones are planned", async () => {
    const run = await exactRun([turn("a", "j", 10, { arrival_ms: 0 })], closed(2, "--duration", "450ms"));
    // Two at a time, 100 ms each: begun at 0, 100, 200, 300, 400; the last two are cut at 450.
    expect(run.summary.counts).toEqual({
      planned: 10,
      sent: 10,
      ok: 8,
      failed: 0,
      cancelled: 2,
      skipped: 0,
      not_sent: 0,
      overdue: 0,
    });
    expect(run.summary.jobs.counts).toMatchObject({ total: 10, ok: 8, unfinished: 2, not_started: 0 });
    expect(run.summary.throughput.jobs_per_hour).toBeCloseTo((8 * HOUR) / 450, 9);
    // All slots are in use until the cut.
    expect(run.summary.steady_state).toEqual({
      start_ms: 0,
      end_ms: 450,
      jobs: 8,
      jobs_per_hour: (8 * HOUR) / 450,
    });
    expect(run.summary.prefix_cache.hit_rate).toBe(0);
    expect(run.summary.fidelity.notes.join("\n")).toContain("again and again until the duration is over");
    expect(run.code).toBe(0);
  });

  it("counts the turns of a begun job that were not sent", async () => {
    const run = await exactRun(
      [turn("a", "j", 10, { arrival_ms: 0, after: [] }), turn("b", "j", 10, { after: ["a"], think_ms: 100 })],
      closed(1, "--duration", "450ms"),
    );
    expect(run.times("b")).toEqual([200, 200, 210, 300]);
    expect(run.times("a~1")).toEqual([300, 300, 310, 400]);
    expect(run.summary.counts).toMatchObject({ planned: 4, sent: 3, ok: 3, not_sent: 1, overdue: 0 });
    expect(run.summary.jobs.counts).toMatchObject({ total: 2, ok: 1, unfinished: 1 });
  });

  it("has copies enough where every job fails at its first turn, whatever it would have thought for later", async () => {
    const rows = [
      turn("a", "j", 10, { arrival_ms: 0, after: [] }),
      turn("b", "j", 10, { after: ["a"], think_ms: 60_000 }),
    ];
    const run = await exactRun(rows, closed(1, "--duration", "450ms", "--timeout", "20ms"));
    // 20 ms a job: the 23rd, begun at 440, is cut.
    expect(run.summary.counts).toMatchObject({
      planned: 46,
      sent: 23,
      failed: 22,
      skipped: 22,
      cancelled: 1,
    });
    expect(run.summary.validity.verdict).not.toBe("degraded");
  });

  it("says so where even the copies ran out", async () => {
    // Two rounds are what 200,000 turns allow; a timeout ends each at its root.
    const rows = [turn("a", "j", 10, { arrival_ms: 0, after: [] })];
    for (let i = 0; i < 70_000; i++) rows.push(turn(`b${i}`, "j", 1, { after: ["a"], think_ms: 1 }));
    const run = await exactRun(rows, closed(1, "--duration", "450ms", "--timeout", "20ms"));
    expect(run.summary.jobs.counts).toMatchObject({ total: 2, failed: 2 });
    expect(run.summary.validity.verdict).toBe("degraded");
    expect(run.summary.validity.reasons.join()).toContain("had begun before the duration was over");
  });

  it("repeats nothing where the number of jobs was given", async () => {
    const one = [turn("a", "j", 10, { arrival_ms: 0 })];
    for (const flags of [
      ["--copies", "1"],
      ["--max-jobs", "1"],
    ]) {
      const run = await exactRun(one, closed(1, "--duration", "450ms", ...flags));
      expect(run.summary.counts).toMatchObject({ planned: 1, ok: 1 });
    }
  });

  it("makes two runs comparable although one server managed more: jobs of both, cut ones left out", async () => {
    const rows = [turn("a", "j", 10, { arrival_ms: 0 }), turn("b", "k", 20, { arrival_ms: 1 })];
    const flags = closed(2, "--duration", "2s");
    const slow = ['linear_step={"base_ms":12}'];
    const [fast, late] = [await exactRun(rows, flags), await exactRun(rows, flags, slow)];
    expect(fast.summary.counts.planned).toBeGreaterThan(late.summary.counts.planned);
    const gate = (limit: string): ReturnType<typeof runCommand> =>
      runCommand(compare, [fast.folder, late.folder, "--gate", `mean(job_e2e) <= ${limit}`]);
    expect(await gate("+25%")).toMatchObject({ code: 0, err: "" });
    const missed = await gate("+10%");
    expect(missed.code).toBe(1);
    expect(missed.out).not.toContain("absent");
    expect(missed.out).not.toContain("different work");
  });

  it("leaves open loops alone", async () => {
    const run = await exactRun(TWO, ["--pacing", "jobs", "--duration", "900ms"]);
    expect(run.summary.counts).toMatchObject({ planned: 2, sent: 1, not_sent: 1, overdue: 0 });
    expect(run.summary.jobs.counts).toMatchObject({ total: 2, ok: 1, not_started: 1, censored: 0 });
  });
});

describe("budgets", () => {
  const PAIR = [turn("a", "j", 20, { arrival_ms: 0 }), turn("b", "k", 20, { arrival_ms: 1 })];

  it("of a trace wins over the flag; exactly the budget is within it", async () => {
    const run = await exactRun(
      [
        turn("a", "j", 20, { arrival_ms: 0, budget_ms: 200 }),
        turn("b", "k", 20, { arrival_ms: 1000, budget_ms: 199 }),
        turn("c", "l", 20, { arrival_ms: 2000 }),
        turn("d", "m", 21, { arrival_ms: 3000 }),
      ],
      ["--pacing", "jobs", "--job-budget", "200ms", "--gpus", "4"],
    );
    expect(["j", "k", "l", "m"].map((job) => run.job(job).outcome)).toEqual([
      "within",
      "over",
      "within",
      "over",
    ]);
    expect(run.summary.jobs.budget_miss_rate).toBe(0.5);
    expect(run.summary.jobs.budget.sources).toEqual({ trace: 2, flag: 2 });
    // 3000 + 210 ms, from the first intended time on.
    expect(run.summary.throughput).toMatchObject({
      jobs_per_hour: (4 * HOUR) / 3210,
      jobs_in_budget_per_hour: (2 * HOUR) / 3210,
      jobs_per_hour_per_gpu: HOUR / 3210,
    });
    expect(run.summary.throughput.jobs_per_hour_per_user).toBeCloseTo(HOUR / 202.5, 9);
  });

  it("2x: twice the recorded time without calibration, and labelled so", async () => {
    const rows = [turn("a", "j", 20, { arrival_ms: 0, recorded: { sent_ms: 0, end_ms: 90 } })];
    const run = await exactRun(rows, ["--job-budget", "2x"]);
    expect(run.job("j")).toMatchObject({ budget_ms: 180, budget_source: "recorded", outcome: "over" });
  });

  it("1.5x after a calibration: one sequence at a time makes the second job miss it, cut or not", async () => {
    // Alone each takes 200 ms: 300 ms are allowed. Together b waits for a: 400 ms.
    const flags = closed(2, "--calibrate", "--job-budget", "1.5x");
    const whole = await exactRun(PAIR, [...flags, "--copies", "1"], ["max_num_seqs=1"]);
    expect(whole.job("j")).toMatchObject({ budget_ms: 300, budget_source: "calibration", outcome: "within" });
    expect(whole.job("k")).toMatchObject({ budget_ms: 300, outcome: "over", metrics: { job_e2e: 400 } });
    // Cut at 350: b is over its budget already; the copy of a, begun at 200, is censored.
    const cut = await exactRun(PAIR, [...flags, "--duration", "350ms"], ["max_num_seqs=1"]);
    expect(cut.job("k")).toMatchObject({ status: "unfinished", outcome: "over", budget_ms: 300 });
    expect(cut.job("j~1")).toMatchObject({ status: "unfinished", outcome: "censored", budget_ms: 300 });
    expect(cut.summary.jobs.counts).toMatchObject({ total: 3, ok: 1, over_budget: 1, censored: 1 });
    expect(cut.summary.jobs.budget_miss_rate).toBe(0.5);
  });
});

describe("prefixes", () => {
  const blocks = (first: number, n: number): number[] => Array.from({ length: n }, (_, i) => first + i);
  /** 5 blocks of 64 that both begin with, 5 of their own. */
  const shared = ["j", "k"].map((job, i) =>
    turn(job, job, 1, {
      arrival_ms: i,
      prompt_tokens: 640,
      hash_ids: [...blocks(0, 5), ...blocks(100 * (i + 1), 5)],
      block_tokens: 64,
    }),
  );
  const cached = (run: { records: Map<string, { cached_tokens: number | null }> }): unknown[] =>
    [...run.records.values()].map((record) => record.cached_tokens);

  it("copies share none of them unless asked", async () => {
    const apart = await exactRun(shared, closed(1, "--copies", "2"));
    expect(cached(apart)).toEqual([0, 320, 0, 320]);
    expect(apart.summary.prefix_cache).toMatchObject({ optimal_hit_rate: 0.25, hit_rate: 0.25 });
    const together = await exactRun(shared, closed(1, "--copies", "2", "--share-copies"));
    // All but the last block of 16, which is always computed.
    expect(cached(together)).toEqual([0, 320, 624, 624]);
  });

  it("that jobs share are in the cache before the run with --preload", async () => {
    const run = await exactRun(shared, closed(1, "--preload"));
    expect(cached(run)).toEqual([320, 320]);
    expect(run.summary.counts.planned).toBe(2);
    // In every round: the copies share the system prompt, and nothing else.
    const rounds = await exactRun(shared, closed(1, "--preload", "--copies", "3"));
    expect(cached(rounds)).toEqual([320, 320, 320, 320, 320, 320]);
  });

  it("of messages, too: the system prompt stays, what follows is the copy's own", async () => {
    const system = { role: "system", content: "You are a careful agent with many rules. ".repeat(30) };
    const told = { role: "user", content: "Do the same long task again and again. ".repeat(30) };
    const rows = ["j", "k"].map((job, i) => ({
      request_id: job,
      job_id: job,
      arrival_ms: i,
      messages: [system, told],
      max_tokens: 1,
      expected_output_tokens: 1,
    }));
    const run = await exactRun(rows, closed(1, "--preload", "--copies", "2"));
    const [first, , copy, last] = cached(run) as number[];
    expect(first).toBeGreaterThan(200);
    // A few made-up words stand before the copy's first own message: shorter or longer by no more than a block.
    expect(Math.abs((copy as number) - (first as number))).toBeLessThanOrEqual(16);
    expect(last).toBeGreaterThan(1.5 * (copy as number));
  });
});
