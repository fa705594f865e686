/** Hand-made DAGs through the command line: every instant, every job metric and every cause to the millisecond. */
import { describe, expect, it } from "vitest";
import { causes, exactRun, turn } from "./exact-run.ts";

describe("one job", () => {
  it("chain: think time runs from the end of the turn before", async () => {
    const run = await exactRun([
      turn("a", "j", 5, { turn: 0, arrival_ms: 1000 }),
      turn("b", "j", 3, { turn: 1, arrival_ms: 9000, think_ms: 200 }),
      turn("c", "j", 1, { turn: 2, arrival_ms: 9500, think_ms: 1 }),
    ]);
    expect(run.times("a")).toEqual([0, 0, 10, 50]);
    expect(run.times("b")).toEqual([250, 250, 260, 280]);
    expect(run.times("c")).toEqual([281, 281, 291, 291]);
    const job = run.job("j");
    expect(job.metrics).toEqual({
      job_e2e: 291,
      job_first_token: 10,
      job_answer: 291,
      queueing: 0,
      job_turns: 3,
      job_output_tokens: 9,
      job_prompt_tokens: 300,
    });
    expect(job.breakdown_ms).toEqual(causes({ tool: 201, prefill: 30, decode: 40 + 20 }));
    expect(job.dominated_by).toBe("tool");
    expect(run.summary.jobs.breakdown_ms).toEqual(job.breakdown_ms);
    expect(run.summary.jobs.dominated_by).toEqual({ tool: 1 });
    expect(run.summary.throughput.jobs_per_hour_per_user).toBeCloseTo(3_600_000 / 291, 9);
    expect(run.summary.jobs.engine_split).toMatchObject({ basis: "server", server: 3, estimated: 0 });
  });

  it("fork-join: the path goes through the branch that ended last", async () => {
    const run = await exactRun([
      turn("a", "j", 2, { arrival_ms: 0, after: [] }),
      turn("b", "j", 4, { after: ["a"], think_ms: 100 }),
      turn("c", "j", 20, { after: ["a"], think_ms: 50 }),
      turn("d", "j", 1, { after: ["b", "c"], think_ms: 30 }),
    ]);
    expect(run.times("a")).toEqual([0, 0, 10, 20]);
    expect(run.times("b")).toEqual([120, 120, 130, 160]);
    expect(run.times("c")).toEqual([70, 70, 80, 270]);
    expect(run.times("d")).toEqual([300, 300, 310, 310]);
    expect(run.job("j").breakdown_ms).toEqual(causes({ tool: 80, prefill: 30, decode: 10 + 190 }));
    expect(run.job("j").metrics).toMatchObject({ job_e2e: 310, job_answer: 310, queueing: 0 });
    expect(run.job("j").dominated_by).toBe("decode");
  });

  it("nested fork: the inner join ends before the outer one", async () => {
    const run = await exactRun([
      turn("plan", "j", 1, { arrival_ms: 0, after: [] }),
      turn("left", "j", 3, { after: ["plan"], think_ms: 10 }),
      turn("right", "j", 1, { after: ["plan"], think_ms: 10 }),
      turn("r1", "j", 2, { after: ["right"], think_ms: 20 }),
      turn("r2", "j", 6, { after: ["right"], think_ms: 20 }),
      turn("rjoin", "j", 1, { after: ["r1", "r2"], think_ms: 10 }),
      turn("end", "j", 2, { after: ["left", "rjoin"], think_ms: 40 }),
    ]);
    expect(run.times("left")).toEqual([20, 20, 30, 50]);
    expect(run.times("right")).toEqual([20, 20, 30, 30]);
    expect(run.times("r1")).toEqual([50, 50, 60, 70]);
    expect(run.times("r2")).toEqual([50, 50, 60, 110]);
    expect(run.times("rjoin")).toEqual([120, 120, 130, 130]);
    expect(run.times("end")).toEqual([170, 170, 180, 190]);
    // plan 10, right 10, r2 10 + 50, rjoin 10, end 10 + 10; gaps 10 + 20 + 10 + 40.
    expect(run.job("j").breakdown_ms).toEqual(causes({ tool: 80, prefill: 50, decode: 60 }));
    expect(run.job("j").metrics.job_e2e).toBe(190);
  });

  it("diamond written by equal turn numbers: they run side by side, the next waits for both", async () => {
    const run = await exactRun([
      turn("a", "j", 1, { turn: 0, arrival_ms: 0 }),
      turn("b", "j", 5, { turn: 1, arrival_ms: 5000, think_ms: 10 }),
      turn("c", "j", 2, { turn: 1, arrival_ms: 5000, think_ms: 30 }),
      turn("d", "j", 1, { turn: 5, arrival_ms: 8000, think_ms: 5 }),
    ]);
    expect(run.times("b")).toEqual([20, 20, 30, 70]);
    expect(run.times("c")).toEqual([40, 40, 50, 60]);
    expect(run.times("d")).toEqual([75, 75, 85, 85]);
    expect(run.records.get("d")?.after).toEqual(["b", "c"]);
    expect(run.job("j").breakdown_ms).toEqual(causes({ tool: 15, prefill: 30, decode: 40 }));
  });

  it("a sub-agent that nobody waits for keeps nobody waiting, but the job lasts until it ends", async () => {
    const run = await exactRun([
      turn("a", "j", 1, { arrival_ms: 0, after: [] }),
      turn("async", "j", 50, { after: ["a"], think_ms: 10, agent: "watcher" }),
      turn("b", "j", 2, { after: ["a"], think_ms: 20 }),
    ]);
    expect(run.times("async")).toEqual([20, 20, 30, 520]);
    expect(run.times("b")).toEqual([30, 30, 40, 50]);
    expect(run.job("j").metrics).toMatchObject({ job_e2e: 520, job_answer: 30, job_turns: 3 });
    expect(run.job("j").breakdown_ms).toEqual(causes({ tool: 10, prefill: 20, decode: 490 }));
  });

  it("a branch that fails takes its descendants with it, not its siblings", async () => {
    const run = await exactRun(
      [
        turn("a", "j", 1, { arrival_ms: 0, after: [] }),
        turn("bad", "j", 1, { after: ["a"], think_ms: 10, prompt_tokens: 5000 }),
        turn("bad2", "j", 1, { after: ["bad"], think_ms: 10 }),
        turn("good", "j", 3, { after: ["a"], think_ms: 10 }),
        turn("good2", "j", 1, { after: ["good"], think_ms: 10 }),
        turn("join", "j", 1, { after: ["bad2", "good2"], think_ms: 10 }),
        turn("alone", "k", 1, { arrival_ms: 0 }),
      ],
      ["--job-budget", "1h"],
      ["max_model_len=2048"],
    );
    expect(run.summary.counts).toMatchObject({ planned: 7, sent: 5, ok: 4, failed: 1, skipped: 2 });
    expect(run.times("good2")).toEqual([60, 60, 70, 70]);
    expect(run.records.get("bad")).toMatchObject({ status: "failed", intended_ms: 20, sent_ms: 20 });
    expect(run.records.get("bad2")).toMatchObject({ status: "skipped", sent_ms: null, end_ms: null });
    expect(run.records.get("join")).toMatchObject({ status: "skipped", intended_ms: null });
    expect(run.summary.jobs.counts).toMatchObject({ total: 2, ok: 1, failed: 1, over_budget: 1 });
    expect(run.summary.jobs.budget_miss_rate).toBe(0.5);
    expect(run.summary.jobs.job_e2e).toMatchObject({ n: 1, mean: 10 });
    expect(run.job("j")).toMatchObject({ status: "failed", breakdown_ms: null, dominated_by: null });
    expect(run.code).toBe(1);
  });
});

describe("several turns that wait for nobody", () => {
  const rows = [
    turn("a", "j", 3, { arrival_ms: 500, after: [] }),
    turn("late", "j", 2, { arrival_ms: 700, after: [] }),
    turn("join", "j", 1, { after: ["a", "late"], think_ms: 40 }),
    turn("x", "k", 1, { arrival_ms: 900, after: [] }),
  ];

  it("jobs: each at its own time", async () => {
    const run = await exactRun(rows, ["--pacing", "jobs"]);
    expect(run.times("a")).toEqual([0, 0, 10, 30]);
    expect(run.times("late")).toEqual([200, 200, 210, 220]);
    expect(run.times("join")).toEqual([260, 260, 270, 270]);
    expect(run.times("x")).toEqual([400, 400, 410, 410]);
    // late was released by time: before it lies a, which had ended 170 ms earlier.
    expect(run.job("j").breakdown_ms).toEqual(causes({ tool: 170 + 40, prefill: 30, decode: 20 + 10 }));
    expect(run.job("j").metrics.job_e2e).toBe(270);
  });

  it("closed: as long after the job's slot came free", async () => {
    const run = await exactRun(rows, ["--pacing", "closed"]);
    expect(run.times("late")).toEqual([200, 200, 210, 220]);
    expect(run.times("join")).toEqual([260, 260, 270, 270]);
    // k gets the one slot when j has ended.
    expect(run.times("x")).toEqual([270, 270, 280, 280]);
    expect(run.records.get("late")).toMatchObject({ slot_ms: 0 });
  });

  it("--max-gap shortens the gap before the later one, in both pacings, and says so", async () => {
    for (const pacing of ["jobs", "closed"]) {
      const run = await exactRun(rows, ["--pacing", pacing, "--max-gap", "50ms"]);
      expect(run.times("late")).toEqual([50, 50, 60, 70]);
      expect(run.times("join")).toEqual([110, 110, 120, 120]);
      expect(run.summary.fidelity.gaps_capped).toBe(1);
    }
  });
});

describe("think times", () => {
  it("come from arrival − recorded end where think_ms is missing; unknown ones are 0, and said", async () => {
    const run = await exactRun([
      turn("a", "j", 2, { turn: 0, arrival_ms: 0, recorded: { sent_ms: 0, end_ms: 4000 } }),
      turn("b", "j", 2, { turn: 1, arrival_ms: 6000 }),
      turn("c", "j", 2, { turn: 2, arrival_ms: 9000, recorded: { sent_ms: 9000, end_ms: 9500 } }),
    ]);
    expect(run.times("b")).toEqual([2020, 2020, 2030, 2040]);
    expect(run.times("c")).toEqual([2040, 2040, 2050, 2060]);
    expect(run.summary.fidelity.notes.join("\n")).toContain(
      "think time of 1 of 2 later turns is unknown and taken as 0",
    );
  });

  it("--think-scale first, then --max-gap", async () => {
    const run = await exactRun(
      [
        turn("a", "j", 1, { turn: 0, arrival_ms: 0 }),
        turn("b", "j", 1, { turn: 1, arrival_ms: 5000, think_ms: 100 }),
        turn("c", "j", 1, { turn: 2, arrival_ms: 8000, think_ms: 1000 }),
      ],
      ["--think-scale", "0.5", "--max-gap", "200ms"],
    );
    expect(run.times("b")).toEqual([60, 60, 70, 70]);
    expect(run.times("c")).toEqual([270, 270, 280, 280]);
    expect(run.summary.fidelity).toMatchObject({ think_scale: 0.5, gaps_capped: 1 });
  });
});

describe("queues", () => {
  it("in the engine: with one sequence at a time the second job waits there", async () => {
    const run = await exactRun(
      [turn("a", "j", 10, { arrival_ms: 0 }), turn("b", "k", 2, { arrival_ms: 20 })],
      [],
      ["max_num_seqs=1"],
    );
    expect(run.times("b")).toEqual([20, 20, 110, 120]);
    expect(run.job("k").breakdown_ms).toEqual(causes({ engine_queue: 80, prefill: 10, decode: 10 }));
    expect(run.summary.jobs.dominated_by).toEqual({ decode: 1, engine_queue: 1 });
    expect(run.summary.jobs.breakdown_ms).toEqual(causes({ engine_queue: 40, prefill: 10, decode: 50 }));
  });

  it("at our own cap: slot wait, in queueing and in the path", async () => {
    const run = await exactRun(
      [
        turn("a", "j", 10, { arrival_ms: 0 }),
        turn("b", "k", 2, { turn: 0, arrival_ms: 20 }),
        turn("c", "k", 1, { turn: 1, arrival_ms: 5000, think_ms: 30 }),
        turn("d", "l", 8, { arrival_ms: 125 }),
      ],
      ["--pacing", "jobs", "--max-concurrency", "1"],
    );
    expect(run.times("b")).toEqual([20, 100, 110, 120]);
    expect(run.times("d")).toEqual([125, 125, 135, 205]);
    expect(run.times("c")).toEqual([150, 205, 215, 215]);
    expect(run.job("k").breakdown_ms).toEqual(causes({ slot: 80 + 55, tool: 30, prefill: 20, decode: 10 }));
    expect(run.job("k").metrics).toMatchObject({ queueing: 135, job_e2e: 195 });
    expect(run.job("k").dominated_by).toBe("slot");
  });
});
