import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { load } from "../../test/support/load-requests.ts";
import { runPlan } from "../../test/support/run-plan.ts";
import { VirtualClock } from "../core/virtual-clock.ts";
import { planLoad } from "../plan/plan-load.ts";
import type { Plan, PlannedRequest, Release } from "../plan/plan.ts";
import { ReleaseQueue } from "./release-queue.ts";

interface Drawn {
  readonly job: number;
  readonly at: number;
  /** Parents by how far back in the job they lie. */
  readonly back: readonly number[];
  readonly think: number;
  readonly service: number;
  readonly fails: boolean;
}

const drawn = fc.record<Drawn>({
  job: fc.integer({ min: 0, max: 4 }),
  at: fc.integer({ min: 0, max: 60 }),
  back: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 2 }),
  think: fc.integer({ min: 0, max: 20 }),
  service: fc.integer({ min: 0, max: 25 }),
  fails: fc.boolean(),
});

/** Any mix of `at` and `after` in five jobs; children refer to earlier requests of their job. */
function planOf(items: readonly Drawn[], cap: number | null): Plan {
  const byJob = new Map<number, number[]>();
  const requests = items.map((item, index): PlannedRequest => {
    const own = byJob.get(item.job) ?? [];
    byJob.set(item.job, own);
    const parents = [...new Set(item.back.flatMap((b) => own.at(-b) ?? []))];
    own.push(index);
    const release: Release =
      parents.length === 0
        ? { kind: "at", offset_ms: item.at }
        : { kind: "after", parents, think_ms: item.think };
    return {
      index,
      request_id: `r${index}`,
      job: item.job,
      turn: 0,
      agent: null,
      release,
      request: {
        prompt: { kind: "text", text: "" },
        forced_output_tokens: null,
        max_tokens: null,
        temperature: null,
        params: null,
        model: null,
        copy: 0,
      },
      planned_prompt_tokens: null,
      planned_output_tokens: null,
    };
  });
  return {
    requests,
    jobs: [0, 1, 2, 3, 4].map((index) => ({
      index,
      job_id: `j${index}`,
      requests: byJob.get(index) ?? [],
      budget_ms: null,
      recorded_ms: null,
      optimal_hit_rate: null,
    })),
    pacing: "jobs",
    max_concurrency: cap,
    max_concurrent_jobs: null,
    span_ms: null,
    optimal_hit_rate: null,
    optimal_cached_tokens: null,
    notes: [],
    gaps_capped: 0,
  };
}

interface Expected {
  status: "ok" | "failed" | "skipped";
  intended: number | null;
  sent: number | null;
  end: number | null;
}

/** The same rules worked out by brute force, instant by instant, without queues, slots or timers. */
function simulate(plan: Plan, items: readonly Drawn[], cap: number | null): Expected[] {
  const out = items.map((): Expected | null => null);
  const open = new Set(items.keys());
  const running = new Map<number, { end: number; sent: number; intended: number }>();
  const dead = (i: number): boolean => {
    const { release } = plan.requests.at(i) as PlannedRequest;
    return (
      release.kind === "after" &&
      release.parents.some((p) => ["failed", "skipped"].includes(out[p]?.status ?? ""))
    );
  };
  const intendedOf = (i: number): number | null => {
    const { release } = plan.requests.at(i) as PlannedRequest;
    if (release.kind === "at") return release.offset_ms;
    if (release.kind === "slot") return null;
    const ends = release.parents.map((p) =>
      out[p]?.status === "ok" ? (out[p] as { end: number }).end : Infinity,
    );
    return Math.max(...ends) + release.think_ms;
  };
  for (let now = 0; open.size > 0 || running.size > 0; now++) {
    for (let changed = true; changed;) {
      changed = false;
      for (const [i, r] of running) {
        if (r.end > now) continue;
        out[i] = {
          status: (items[i] as Drawn).fails ? "failed" : "ok",
          intended: r.intended,
          sent: r.sent,
          end: r.end,
        };
        running.delete(i);
        changed = true;
      }
      for (const i of open) {
        if (!dead(i)) continue;
        out[i] = { status: "skipped", intended: null, sent: null, end: null };
        open.delete(i);
        changed = true;
      }
      const due = [...open]
        .map((i) => ({ i, intended: intendedOf(i) as number }))
        .filter((d) => d.intended <= now)
        .sort((a, b) => a.intended - b.intended || a.i - b.i);
      for (const { i, intended } of due) {
        if (cap !== null && running.size >= cap) break;
        running.set(i, { sent: now, intended, end: now + (items[i] as Drawn).service });
        open.delete(i);
        changed = true;
      }
    }
  }
  return out as Expected[];
}

describe("release order", () => {
  it("any plan runs as the rules say, worked out by brute force", async () => {
    await fc.assert(
      fc.asyncProperty(
        // Service of at least 1 ms: with 0 ms the order of events inside one instant is not settled by the rules.
        fc.array(
          drawn.map((d) => ({ ...d, service: d.service + 1, fails: d.fails && d.service % 4 === 0 })),
          {
            minLength: 1,
            maxLength: 40,
          },
        ),
        fc.option(fc.integer({ min: 1, max: 4 }), { nil: null }),
        async (items, cap) => {
          const plan = planOf(items, cap);
          const expected = simulate(plan, items, cap);
          const { byId, client, result } = await runPlan(plan, (id) => {
            const item = items[Number(id.slice(1))] as Drawn;
            return { service_ms: item.service, ...(item.fails ? { status: 500 } : {}) };
          });
          expect(byId.size).toBe(items.length);
          items.forEach((_, i) => {
            const record = byId.get(`r${i}`);
            const want = expected[i] as Expected;
            expect([i, record?.status, record?.sent_ms, record?.end_ms]).toEqual([
              i,
              want.status,
              want.sent,
              want.end,
            ]);
            if (want.status === "skipped") return;
            expect(record?.intended_ms).toBe(want.intended);
            const slotWait =
              record?.slot_ms === null ? 0 : (record?.slot_ms as number) - (want.intended as number);
            expect(want.sent).toBe((want.intended as number) + slotWait);
          });
          if (cap !== null) expect(client.peak).toBeLessThanOrEqual(cap);
          expect(result.not_sent).toBe(0);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("any times, with all their digits: sent once each, on time, and the run ends", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 50 }),
        fc.double({ min: 0, max: 1e9, noNaN: true }),
        async (times, start) => {
          const p = planLoad(
            load(times.length, (i) => times[i] as number),
            { arrivals: "given" },
          );
          const { records, result } = await runPlan(p, 12.345, { clock: new VirtualClock(start) });
          expect(records).toHaveLength(times.length);
          for (const r of records) {
            // Doubles near 1e9 are 1e-7 apart.
            expect(Math.abs((r.sent_ms as number) - (r.intended_ms as number))).toBeLessThan(1e-6);
          }
          expect(result.not_sent).toBe(0);
        },
      ),
      { numRuns: 200 },
    );
  });

  it("the queue hands out (due, index) order under any mix of pushes and pops", () => {
    const due = fc.integer({ min: 0, max: 20 });
    fc.assert(
      fc.property(
        fc.array(due, { maxLength: 30 }),
        fc.array(fc.option(due, { nil: null }), { maxLength: 60 }),
        (planned, steps) => {
          const queue = new ReleaseQueue({
            indices: Uint32Array.from(planned.keys()),
            dues: Float64Array.from(planned),
          });
          const model = planned.map((d, index) => ({ due: d, index }));
          let next = planned.length;
          for (const step of steps) {
            if (step !== null) {
              model.push({ due: step, index: next });
              queue.push(next++, step);
              continue;
            }
            model.sort((a, b) => a.due - b.due || a.index - b.index);
            const first = model.shift();
            expect(queue.nextDue()).toBe(first?.due ?? Infinity);
            expect(queue.pop()).toBe(first?.index ?? -1);
          }
          expect(queue.size).toBe(model.length);
        },
      ),
    );
  });
});
