import { beforeEach, describe, expect, it } from "vitest";
import { load } from "../../test/support/load-requests.ts";
import { runPlan } from "../../test/support/run-plan.ts";
import { row } from "../../test/support/trace-row.ts";
import { describeSamples } from "../core/quantile.ts";
import { planLoad } from "../plan/plan-load.ts";
import { planTrace } from "../plan/plan-trace.ts";
import type { PlanOptions } from "../plan/plan-options.ts";
import type { RequestRecord } from "../record/request-record.ts";
import { resolveJobs } from "../trace/jobs.ts";
import type { TraceRequest } from "../trace/trace-request.ts";

const plan = (rows: readonly TraceRequest[], options: Partial<PlanOptions> = {}) =>
  planTrace(resolveJobs(rows), options);

const slotWait = (r: RequestRecord) => Math.max(0, (r.slot_ms ?? 0) - (r.intended_ms as number));
const lateness = (r: RequestRecord) =>
  (r.sent_ms as number) - r.connect_ms - Math.max(r.intended_ms as number, r.slot_ms ?? -Infinity);
const times = (r: RequestRecord | undefined) => [r?.status, r?.intended_ms, r?.sent_ms, r?.end_ms];

describe("open loop", () => {
  it("keeps slot wait apart from service: 8 requests at 0..700, one slot, 500 ms each (case 22)", async () => {
    const items = load(8, (i) => i * 100);
    const { records } = await runPlan(planLoad(items, { arrivals: "given", max_concurrency: 1 }), 500);
    // Request i ends at 500(i+1); sent at 500i; intended 100i: waits 400i (0..2800), responds in 500 + 400i.
    expect(records.map(slotWait)).toEqual([0, 400, 800, 1200, 1600, 2000, 2400, 2800]);
    expect(describeSamples(records.map(slotWait)).mean).toBe(1400);
    expect(records.map((r) => (r.end_ms as number) - (r.sent_ms as number))).toEqual(Array(8).fill(500));
    const response = describeSamples(records.map((r) => (r.end_ms as number) - (r.intended_ms as number)));
    expect([response.mean, response.max]).toEqual([1900, 3300]);
    expect(response["p99"]).toBeCloseTo(3272, 9);
    expect(records.map(lateness)).toEqual(Array(8).fill(0));
  });

  it("sends at the planned instants, whatever the server does", async () => {
    const offsets = [0, 0.25, 3, 3, 1000.5];
    const { records, result } = await runPlan(
      planLoad(
        load(5, (i) => offsets[i] as number),
        { arrivals: "given" },
      ),
      70,
    );
    expect(records.map((r) => r.sent_ms)).toEqual(offsets);
    expect(records.map((r) => r.slot_ms)).toEqual(Array(5).fill(null));
    expect(result).toMatchObject({ ended_ms: 1070.5, not_sent: 0, overdue: 0, interrupted: false });
  });

  it("starts 2000 requests planned for one instant at that instant", async () => {
    const { records, client } = await runPlan(planLoad(load(2000)), 10);
    expect(new Set(records.map((r) => r.sent_ms))).toEqual(new Set([0]));
    expect(client.peak).toBe(2000);
    expect(client.sends.map((s) => s.id)).toEqual(load(2000).map((item) => item.request_id));
  });

  it("gives a free slot to the earliest intended time, and never to one whose time has not come", async () => {
    // One slot. r0 0-100; r1 due at 150 must not hold the slot from 100 to 150; r2 due at 120 takes it first.
    const offsets = [0, 150, 120];
    const { byId } = await runPlan(
      planLoad(
        load(3, (i) => offsets[i] as number),
        { arrivals: "given", max_concurrency: 1 },
      ),
      100,
    );
    expect(byId.get("r2")).toMatchObject({ intended_ms: 120, slot_ms: 120, sent_ms: 120 });
    expect(byId.get("r1")).toMatchObject({ intended_ms: 150, slot_ms: 220, sent_ms: 220 });
  });
});

describe("slots", () => {
  it("sends the next when a slot is free, and calls that instant its intended time", async () => {
    const { records, client } = await runPlan(planLoad(load(5), { max_concurrency: 2 }), (id) => ({
      service_ms: id === "r0" ? 250 : 100,
    }));
    // slot A: r0 0-250, slot B: r1 0-100, r2 100-200, r3 200-300; r4 takes A at 250.
    const sent = Object.fromEntries(records.map((r) => [r.request_id, r.sent_ms]));
    expect(sent).toEqual({ r0: 0, r1: 0, r2: 100, r3: 200, r4: 250 });
    expect(records.every((r) => r.intended_ms === r.sent_ms && r.slot_ms === r.sent_ms)).toBe(true);
    expect(client.peak).toBe(2);
  });

  it("frees the slot of a failed request", async () => {
    const { records } = await runPlan(planLoad(load(3), { max_concurrency: 1 }), (id) =>
      id === "r0" ? { service_ms: 5, status: 503 } : { service_ms: 100 },
    );
    expect(records.map(times)).toEqual([
      ["failed", 0, 0, 5],
      ["ok", 5, 5, 105],
      ["ok", 105, 105, 205],
    ]);
  });
});

describe("jobs", () => {
  it("counts think time from the live end of the parent (case 30)", async () => {
    const recorded = (sent_ms: number, end_ms: number) => ({
      sent_ms,
      first_token_ms: null,
      end_ms,
      prompt_tokens: null,
      output_tokens: null,
      cached_tokens: null,
    });
    const rows = [
      row("a", "j", { turn: 0, arrival_ms: 0, recorded: recorded(0, 4000) }),
      row("b", "j", { turn: 1, arrival_ms: 6000, recorded: recorded(6000, 7000) }),
    ];
    const preserving = await runPlan(plan(rows, { pacing: "jobs" }), 1000);
    expect(times(preserving.byId.get("b"))).toEqual(["ok", 3000, 3000, 4000]);
    expect(preserving.byId.get("b")).toMatchObject({ after: ["a"], think_ms: 2000 });
    const open = await runPlan(plan(rows, { pacing: "recorded" }), 1000);
    expect(times(open.byId.get("b"))).toEqual(["ok", 6000, 6000, 7000]);
  });

  it("skips what descends from a failure and goes on elsewhere (case 31)", async () => {
    const rows = ["A", "B"].flatMap((job) =>
      [0, 1, 2].map((t) => row(`${job}${t}`, job, { turn: t, arrival_ms: 0, think_ms: 0 })),
    );
    const { byId, counts, result } = await runPlan(plan(rows, { pacing: "jobs" }), (id) =>
      id === "A1" ? { service_ms: 1000, status: 500 } : { service_ms: 1000 },
    );
    expect(times(byId.get("A1"))).toEqual(["failed", 1000, 1000, 2000]);
    expect(times(byId.get("A2"))).toEqual(["skipped", 2000, null, null]);
    expect(times(byId.get("B2"))).toEqual(["ok", 2000, 2000, 3000]);
    expect(counts).toMatchObject({
      planned: 6,
      sent: 5,
      ok: 4,
      failed: 1,
      skipped: 1,
      jobs: 2,
      jobs_ended: 2,
    });
    expect(result.not_sent).toBe(0);
  });

  it("forks and joins: the join waits for the last branch", async () => {
    const rows = [
      row("root", "j", { arrival_ms: 0, after: [] }),
      row("left", "j", { after: ["root"], think_ms: 50 }),
      row("right", "j", { after: ["root"], think_ms: 10 }),
      row("join", "j", { after: ["left", "right"], think_ms: 7 }),
    ];
    const { byId } = await runPlan(plan(rows, { pacing: "jobs" }), (id) => ({
      service_ms: { root: 100, left: 200, right: 500, join: 30 }[id] as number,
    }));
    expect(times(byId.get("left"))).toEqual(["ok", 150, 150, 350]);
    expect(times(byId.get("right"))).toEqual(["ok", 110, 110, 610]);
    expect(times(byId.get("join"))).toEqual(["ok", 617, 617, 647]);
    expect(byId.get("join")?.after).toEqual(["left", "right"]);
  });

  it("nests sub-agents, and does not wait for asynchronous ones", async () => {
    // plan → (sub1 → (inner1, inner2) → sub2) → end; background is spawned by plan and joined by nobody.
    const rows = [
      row("plan", "j", { arrival_ms: 0, after: [] }),
      row("background", "j", { after: ["plan"], think_ms: 0 }),
      row("sub1", "j", { after: ["plan"], think_ms: 5 }),
      row("inner1", "j", { after: ["sub1"], think_ms: 0 }),
      row("inner2", "j", { after: ["sub1"], think_ms: 20 }),
      row("sub2", "j", { after: ["inner1", "inner2"], think_ms: 0 }),
      row("end", "j", { after: ["sub2"], think_ms: 100 }),
    ];
    const service: Record<string, number> = { background: 5000, inner1: 40 };
    const { byId, result } = await runPlan(plan(rows, { pacing: "jobs" }), (id) => ({
      service_ms: service[id] ?? 10,
    }));
    // plan 0-10; sub1 15-25; inner1 25-65, inner2 45-55; sub2 65-75; end 175-185; background 10-5010.
    expect([...byId].map(([id, r]) => [id, r.sent_ms, r.end_ms])).toEqual([
      ["plan", 0, 10],
      ["sub1", 15, 25],
      ["inner2", 45, 55],
      ["inner1", 25, 65],
      ["sub2", 65, 75],
      ["end", 175, 185],
      ["background", 10, 5010],
    ]);
    expect(result.ended_ms).toBe(5010);
  });

  it("loses only the failed branch: siblings run, the join is skipped", async () => {
    const rows = [
      row("root", "j", { arrival_ms: 0, after: [] }),
      row("bad", "j", { after: ["root"], think_ms: 0 }),
      row("badchild", "j", { after: ["bad"], think_ms: 0 }),
      row("good", "j", { after: ["root"], think_ms: 0 }),
      row("goodchild", "j", { after: ["good"], think_ms: 10 }),
      row("join", "j", { after: ["badchild", "goodchild"], think_ms: 0 }),
    ];
    const { byId, counts } = await runPlan(plan(rows, { pacing: "jobs" }), (id) =>
      id === "bad" ? { service_ms: 30, status: 500 } : { service_ms: 100 },
    );
    expect(times(byId.get("bad"))).toEqual(["failed", 100, 100, 130]);
    expect(times(byId.get("badchild"))).toEqual(["skipped", 130, null, null]);
    expect(times(byId.get("join"))).toEqual(["skipped", null, null, null]);
    expect(times(byId.get("goodchild"))).toEqual(["ok", 210, 210, 310]);
    expect(counts).toMatchObject({ ok: 3, failed: 1, skipped: 2, jobs_ended: 1 });
  });

  it("survives a chain of 20,000 turns whose first fails", async () => {
    const rows = Array.from({ length: 20_000 }, (_, i) =>
      row(`t${i}`, "j", { arrival_ms: 0, think_ms: 0, after: i === 0 ? [] : [`t${i - 1}`] }),
    );
    const { counts } = await runPlan(plan(rows, { pacing: "jobs" }), () => ({ service_ms: 1, status: 500 }));
    expect(counts).toMatchObject({ failed: 1, skipped: 19_999 });
  });
});

describe("closed job runs", () => {
  const chain = (job: string, n: number) =>
    Array.from({ length: n }, (_, t) => row(`${job}${t}`, job, { turn: t, think_ms: 100 }));

  it("keeps N jobs under way; a job's slot is free when its last turn has ended", async () => {
    const rows = ["A", "B", "C"].flatMap((job) => chain(job, 2));
    const { byId, client } = await runPlan(plan(rows, { pacing: "closed", max_concurrency: 2 }), (id) => ({
      service_ms: id.startsWith("B") ? 30 : 50,
    }));
    // A: 0-50, 150-200. B: 0-30, 130-160. C starts when B is over.
    expect(times(byId.get("A1"))).toEqual(["ok", 150, 150, 200]);
    expect(times(byId.get("B1"))).toEqual(["ok", 130, 130, 160]);
    expect(times(byId.get("C0"))).toEqual(["ok", 160, 160, 210]);
    expect(byId.get("C0")?.slot_ms).toBe(160);
    expect(times(byId.get("C1"))).toEqual(["ok", 310, 310, 360]);
    expect(client.peak).toBe(2);
  });

  it("starts the first jobs apart, copies with ids of their own, and frees a failed job's slot", async () => {
    const copies = plan(chain("A", 2), { pacing: "closed", max_concurrency: 2, copies: 3, stagger_ms: 40 });
    expect(copies.jobs.map((job) => job.job_id)).toEqual(["A", "A~1", "A~2"]);
    expect(copies.requests.map((r) => [r.request_id, r.request.copy])).toEqual([
      ["A0", 0],
      ["A1", 0],
      ["A0~1", 1],
      ["A1~1", 1],
      ["A0~2", 2],
      ["A1~2", 2],
    ]);
    const { byId } = await runPlan(copies, (id) =>
      id === "A0~1" ? { service_ms: 20, status: 500 } : { service_ms: 50 },
    );
    // A0 0-50, A1 150-200; A0~1 starts 40 later, fails at 60, and job A~2 takes its slot.
    expect(times(byId.get("A0~1"))).toEqual(["failed", 40, 40, 60]);
    expect(byId.get("A1~1")?.status).toBe("skipped");
    expect(times(byId.get("A0~2"))).toEqual(["ok", 60, 60, 110]);
  });

  it("caps jobs that start by time: they wait for a job slot, which is not their own lateness", async () => {
    const rows = ["A", "B"].flatMap((job, j) =>
      [0, 1].map((t) => row(`${job}${t}`, job, { turn: t, think_ms: 0, arrival_ms: j * 10 + t })),
    );
    const timed = { ...plan(rows, { pacing: "jobs" }), max_concurrent_jobs: 1 };
    const { byId } = await runPlan(timed, 100);
    expect(byId.get("B0")).toMatchObject({ intended_ms: 10, slot_ms: 200, sent_ms: 200 });
    expect(byId.get("B1")).toMatchObject({ intended_ms: 300, slot_ms: null, sent_ms: 300 });
  });
});

describe("the end of a run", () => {
  let seen: string[] = [];
  beforeEach(() => {
    seen = [];
  });
  const at = (i: number) => i * 100;

  it("sends nothing at or after the duration, cuts what is in flight, and counts what was due", async () => {
    // One slot, 250 ms each, arrivals every 100: sent 0, 250; at 500 the third would start.
    const capped = planLoad(load(10, at), { arrivals: "given", max_concurrency: 1 });
    const { records, result } = await runPlan(capped, 250, { env: { stop: { duration_ms: 600 } } });
    expect(records.map((r) => [r.request_id, r.status, r.end_ms])).toEqual([
      ["r0", "ok", 250],
      ["r1", "ok", 500],
      ["r2", "cancelled", 600],
    ]);
    // Due before 600: r0..r5; r3, r4, r5 were never sent.
    expect(result).toEqual(
      expect.objectContaining({ ended_ms: 600, not_sent: 7, overdue: 3, interrupted: false }),
    );
    expect(records[2]?.failure?.code).toBe("aborted");
  });

  it("an answer that ends at the very instant of the end has ended", async () => {
    const { records } = await runPlan(planLoad(load(4), { max_concurrency: 1 }), 300, {
      env: { stop: { duration_ms: 600 } },
    });
    expect(records.map((r) => r.status)).toEqual(["ok", "ok"]);
  });

  it("drains on SIGINT: what ends within the grace is ok, the rest cancelled, each with its record (case 34)", async () => {
    const { records, result, counts } = await runPlan(
      planLoad(load(100, at), { arrivals: "given" }),
      (id) => ({ service_ms: id === "r29" ? 60_000 : 130 }),
      { at: [[2950, (run) => run.drain()]] },
    );
    // r0..r29 were sent; r28 (2800) ends at 2930, r29 (2900) does not end in time.
    expect(records).toHaveLength(30);
    expect(counts).toMatchObject({ ok: 29, cancelled: 1, in_flight: 0 });
    expect(records.at(-1)).toMatchObject({ request_id: "r29", status: "cancelled", end_ms: 7950 });
    expect(result).toMatchObject({
      interrupted: true,
      not_sent: 70,
      overdue: 0,
      ended_ms: 7950,
      stopped_ms: 2950,
    });
  });

  it("aborts within a second even if the client keeps silent", async () => {
    const { records, result } = await runPlan(
      planLoad(load(10, at), { arrivals: "given" }),
      () => ({ service_ms: 1e6, deaf: true }),
      {
        at: [
          [450, (run) => run.drain()],
          [700, (run) => run.abort()],
        ],
      },
    );
    expect(records.map((r) => r.status)).toEqual(Array(5).fill("cancelled"));
    expect(result.ended_ms).toBeLessThanOrEqual(700 + 1000);
    expect(result).toMatchObject({ interrupted: true, not_sent: 5 });
  });

  it("skips what a failure during the drain takes out, and does not start what it releases", async () => {
    const rows = ["A", "B"].flatMap((job) =>
      [0, 1].map((t) => row(`${job}${t}`, job, { turn: t, arrival_ms: 0, think_ms: 0 })),
    );
    const { byId, result } = await runPlan(
      plan(rows, { pacing: "jobs" }),
      (id) => (id === "A0" ? { service_ms: 100, status: 500 } : { service_ms: 100 }),
      { at: [[50, (run) => run.drain()]] },
    );
    expect([...byId].map(([id, r]) => [id, r.status])).toEqual([
      ["A0", "failed"],
      ["A1", "skipped"],
      ["B0", "ok"],
    ]);
    expect(result).toMatchObject({ not_sent: 1, overdue: 0 });
  });

  it("may be stopped by whoever gets a record: that end is dealt with in full", async () => {
    const rows = [0, 1, 2].map((t) => row(`t${t}`, "j", { turn: t, arrival_ms: 0, think_ms: 0 }));
    const stopped = plan([...rows, row("later", "k", { arrival_ms: 500 })], { pacing: "jobs" });
    let stop = (): void => {};
    const { records, result } = await runPlan(stopped, () => ({ service_ms: 10, status: 500 }), {
      at: [
        [
          0,
          (run) => {
            stop = () => run.drain(0);
          },
        ],
      ],
      env: {
        onRecord: (record) => {
          seen.push(`${record.request_id} ${record.status}`);
          stop();
        },
      },
    });
    expect(records).toEqual([]);
    expect(seen).toEqual(["t0 failed", "t1 skipped", "t2 skipped"]);
    expect(result).toMatchObject({ not_sent: 1, overdue: 0, interrupted: true, ended_ms: 10 });
  });

  it("ends before it begins", async () => {
    const clockless = await runPlan(planLoad(load(3, at), { arrivals: "given" }), 10, {
      at: [[-10, (run) => run.abort()]],
    });
    expect(clockless.records).toEqual([]);
    expect(clockless.result).toMatchObject({ interrupted: true, not_sent: 3, overdue: 0 });
  });
});
