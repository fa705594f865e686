import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runPlan } from "../../test/support/run-plan.ts";
import { row } from "../../test/support/trace-row.ts";
import { planTrace } from "../plan/plan-trace.ts";
import type { RequestRecord } from "../record/request-record.ts";
import { resolveJobs } from "../trace/jobs.ts";

interface DrawnJob {
  readonly turns: readonly { readonly think: number; readonly service: number; readonly fails: boolean }[];
}

const drawnJobs = fc.array(
  fc.record<DrawnJob>({
    turns: fc.array(
      fc.record({
        think: fc.integer({ min: 0, max: 30 }),
        service: fc.integer({ min: 1, max: 40 }),
        fails: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
      }),
      { minLength: 1, maxLength: 4 },
    ),
  }),
  { minLength: 1, maxLength: 15 },
);

/** How long a chain occupies its slot, by hand: services and think times up to its end or first failure. */
function lengthOf({ turns }: DrawnJob): number {
  let length = 0;
  for (const [t, turn] of turns.entries()) {
    length += (t > 0 ? turn.think : 0) + turn.service;
    if (turn.fails) break;
  }
  return length;
}

describe("job slots", () => {
  it("N jobs at a time, each begun the instant the earliest slot is free, in order", async () => {
    await fc.assert(
      fc.asyncProperty(drawnJobs, fc.integer({ min: 1, max: 5 }), async (jobs, slots) => {
        const rows = jobs.flatMap((job, j) =>
          job.turns.map((turn, t) => row(`${j}.${t}`, `${j}`, { turn: t, think_ms: turn.think })),
        );
        const plan = planTrace(resolveJobs(rows), { pacing: "closed", max_concurrency: slots });
        const { byId, result } = await runPlan(plan, (id) => {
          const [j, t] = id.split(".").map(Number) as [number, number];
          const turn = jobs[j]?.turns[t] as DrawnJob["turns"][number];
          return { service_ms: turn.service, ...(turn.fails ? { status: 500 } : {}) };
        });
        // List scheduling: job j starts on the machine that is free first.
        const freeAt = Array.from({ length: slots }, () => 0);
        const starts = jobs.map((job) => {
          const machine = freeAt.indexOf(Math.min(...freeAt));
          const start = freeAt[machine] as number;
          freeAt[machine] = start + lengthOf(job);
          return start;
        });
        expect(jobs.map((_, j) => (byId.get(`${j}.0`) as RequestRecord).sent_ms)).toEqual(starts);
        expect(byId.size).toBe(rows.length);
        expect(result.ended_ms).toBe(Math.max(...freeAt));
      }),
      { numRuns: 200 },
    );
  });

  it("a cap on requests beneath a cap on jobs: both hold, and their waits add up", async () => {
    const rows = ["A", "B"].map((job) => row(job, job)).concat(row("A2", "A", { after: ["A"], think_ms: 0 }));
    const closed = planTrace(resolveJobs(rows.map((r) => ({ ...r, after: r.after ?? [] }))), {
      pacing: "closed",
      max_concurrency: 2,
    });
    const { byId, client } = await runPlan({ ...closed, max_concurrency: 1 }, 100);
    // Both jobs start at 0; A takes the one request slot, B has it at 100 (its time came first), A2 at 200.
    expect(client.peak).toBe(1);
    expect(byId.get("B")).toMatchObject({ intended_ms: 0, slot_ms: 100, sent_ms: 100 });
    expect(byId.get("A2")).toMatchObject({ intended_ms: 100, slot_ms: 200, sent_ms: 200 });
  });
});
