import { describe, expect, it } from "vitest";
import { load } from "../../test/support/load-requests.ts";
import { runPlan } from "../../test/support/run-plan.ts";
import { row } from "../../test/support/trace-row.ts";
import { resolveJobs } from "../trace/jobs.ts";
import { planLoad } from "./plan-load.ts";
import type { Plan } from "./plan.ts";
import { planTrace } from "./plan-trace.ts";
import { splitPlan } from "./split-plan.ts";

/** 7 jobs of 1 to 7 turns, starting 10 ms apart, 5 ms of think time. */
const rows = [1, 2, 3, 4, 5, 6, 7].flatMap((turns) =>
  Array.from({ length: turns }, (_, t) =>
    row(`j${turns}t${t}`, `j${turns}`, { turn: t, arrival_ms: turns * 10, think_ms: 5 }),
  ),
);
const plan = (pacing: "jobs" | "closed", n: number | null = null): Plan =>
  planTrace(resolveJobs(rows), { pacing, max_concurrency: n });

describe("splitPlan", () => {
  it("loses nothing, keeps jobs whole and sends every request when the whole plan would", async () => {
    const whole = plan("jobs");
    const parts = splitPlan(whole, 3);
    expect(parts).toHaveLength(3);
    expect(parts.flatMap((part) => [...part.requests]).sort((a, b) => a - b)).toEqual(
      whole.requests.map((_, index) => index),
    );
    const { byId } = await runPlan(whole, 20);
    for (const part of parts) {
      const { records } = await runPlan(part.plan, 20);
      expect(records).toHaveLength(part.requests.length);
      for (const record of records) expect(record).toEqual(byId.get(record.request_id));
    }
  });

  it("shares requests out evenly, and the caps without remainder", () => {
    expect(splitPlan(plan("jobs"), 2).map((part) => part.requests.length)).toEqual([16, 12]);
    expect(splitPlan(plan("closed", 5), 3).map((part) => part.plan.max_concurrent_jobs)).toEqual([2, 2, 1]);
    const capped = planLoad(load(10), { max_concurrency: 2 });
    expect(splitPlan(capped, 8).map((part) => part.plan.max_concurrency)).toEqual([1, 1]);
    expect(splitPlan(plan("jobs"), 100)).toHaveLength(7);
  });

  it("never gives two lanes the same gaps (case 23)", () => {
    const lanes = splitPlan(planLoad(load(2000), { rate: 10 }), 2).map((part) => {
      const times = part.plan.requests.map((r) => (r.release.kind === "at" ? r.release.offset_ms : NaN));
      return times.slice(1).map((t, i) => t - (times[i] as number));
    });
    const first = new Set(lanes[0]);
    expect(lanes[1]?.filter((gap) => first.has(gap))).toEqual([]);
  });
});
