import { describe, expect, it } from "vitest";
import { load } from "../../test/support/load-requests.ts";
import { runPlan } from "../../test/support/run-plan.ts";
import { row } from "../../test/support/trace-row.ts";
import { sleep } from "../core/clock.ts";
import { UserError } from "../core/failure.ts";
import { VirtualClock } from "../core/virtual-clock.ts";
import { planLoad } from "../plan/plan-load.ts";
import type { PlanOptions } from "../plan/plan-options.ts";
import { planTrace } from "../plan/plan-trace.ts";
import { resolveJobs } from "../trace/jobs.ts";
import type { TraceRequest } from "../trace/trace-request.ts";
import type { HistoryTurn } from "./live-history.ts";

const plan = (rows: readonly TraceRequest[], options: Partial<PlanOptions> = {}) =>
  planTrace(resolveJobs(rows), options);

describe("preparation", () => {
  it("makes a request that cannot be prepared a failed one, at its own time, and skips its children", async () => {
    const rows = [0, 1].map((t) => row(`t${t}`, "j", { turn: t, arrival_ms: t * 10, think_ms: 0 }));
    const late = [...rows, row("other", "k", { arrival_ms: 500 })];
    const { byId, result } = await runPlan(plan(late, { pacing: "jobs" }), 100, {
      env: {
        prepare: (planned) => {
          if (planned.request_id === "t0") throw new UserError("no tokenizer");
          return { request_id: planned.request_id, body_bytes: 10 };
        },
      },
    });
    expect(byId.get("t0")).toMatchObject({
      status: "failed",
      sent_ms: null,
      intended_ms: 0,
      failure: { code: "client_resource", message: "not sent: no tokenizer" },
    });
    expect(byId.get("t1")?.status).toBe("skipped");
    expect(byId.get("other")?.status).toBe("ok");
    expect(result.not_sent).toBe(0);
  });

  it("ends loudly on a bug", async () => {
    const broken = runPlan(
      planLoad(
        load(3, (i) => i * 10_000),
        { arrivals: "given" },
      ),
      10,
      {
        env: {
          prepare: (planned) => {
            if (planned.index === 2) throw new TypeError("undefined is not a function");
            return { request_id: planned.request_id, body_bytes: 0 };
          },
        },
      },
    );
    await expect(broken).rejects.toThrow("undefined is not a function");
    const full = runPlan(planLoad(load(3)), 10, {
      env: {
        onRecord: () => {
          throw new Error("disk full");
        },
      },
    });
    await expect(full).rejects.toThrow("disk full");
  });

  it("never holds more bodies, nor makes them earlier, than allowed", async () => {
    const clock = new VirtualClock(1000);
    const made: number[] = [];
    let t0 = Infinity;
    let ready = 0;
    let most = 0;
    const { client } = await runPlan(
      planLoad(
        load(3000, (i) => i),
        { arrivals: "given" },
      ),
      5,
      {
        clock,
        env: {
          lookaheadMs: 100,
          lookaheadCount: 20,
          onStart: (start) => {
            t0 = start.t0;
          },
          prepare: (planned) => {
            most = Math.max(most, ++ready - sentSoFar());
            made.push(planned.index);
            if (t0 !== Infinity) expect(planned.index - (clock.now() - t0)).toBeLessThanOrEqual(100);
            return { request_id: planned.request_id, body_bytes: 1 };
          },
        },
      },
    );
    // Room is made by a send: at t0 + k requests 0..k have left.
    function sentSoFar(): number {
      return t0 === Infinity ? 0 : Math.max(0, Math.floor(clock.now() - t0) + 1);
    }
    expect(client.sends.map((s) => s.at - t0)).toEqual(load(3000).map((_, i) => i));
    expect(most).toBe(20);
    expect(made).toEqual(load(3000).map((_, i) => i));
  });

  it("stops at the bytes allowed, too", async () => {
    let before = 0;
    let started = false;
    await runPlan(
      planLoad(
        load(50, (i) => i),
        { arrivals: "given" },
      ),
      5,
      {
        env: {
          lookaheadBytes: 1000,
          onStart: () => {
            started = true;
          },
          prepare: (planned) => {
            if (!started) before++;
            return { request_id: planned.request_id, body_bytes: 300 };
          },
        },
      },
    );
    expect(before).toBe(4);
  });

  it("waits for bodies that take long to make: lateness, not slot wait", async () => {
    const clock = new VirtualClock(1000);
    const { records } = await runPlan(
      planLoad(
        load(2, (i) => i * 5000),
        { arrivals: "given", max_concurrency: 1 },
      ),
      10,
      {
        clock,
        env: {
          lookaheadMs: 100,
          prepare: async (planned) => {
            await sleep(clock, 300);
            return { request_id: planned.request_id, body_bytes: 1 };
          },
        },
      },
    );
    // The first is ready before t0 is chosen; the second is begun at 4900 and ready at 5200.
    expect(records.map((r) => [r.intended_ms, r.slot_ms, r.sent_ms])).toEqual([
      [0, 0, 0],
      [5000, 5000, 5200],
    ]);
  });

  it("has no more than 32 bodies made at a time by others", async () => {
    const clock = new VirtualClock(1000);
    let making = 0;
    let most = 0;
    const { records } = await runPlan(
      planLoad(
        load(500, (i) => i * 20),
        { arrivals: "given" },
      ),
      5,
      {
        clock,
        env: {
          prepare: async (planned) => {
            most = Math.max(most, ++making);
            await sleep(clock, 100);
            making--;
            return { request_id: planned.request_id, body_bytes: 1 };
          },
        },
      },
    );
    expect(most).toBe(32);
    expect(records.map((r) => r.sent_ms)).toEqual(load(500).map((_, i) => i * 20));
  });

  it("prepares a turn while its parent runs", async () => {
    const clock = new VirtualClock(0);
    const made = new Map<string, number>();
    const rows = [0, 1].map((t) => row(`t${t}`, "j", { turn: t, arrival_ms: 0, think_ms: 0 }));
    await runPlan(plan(rows, { pacing: "jobs" }), 1000, {
      clock,
      env: {
        startDelayMs: 50,
        prepare: (planned) => {
          made.set(planned.request_id, clock.now());
          return { request_id: planned.request_id, body_bytes: 0 };
        },
      },
    });
    expect([...made]).toEqual([
      ["t0", 0],
      ["t1", 50],
    ]);
  });

  it("prepares children with the live answers of their ancestors", async () => {
    const rows = [
      row("root", "j", { arrival_ms: 0, after: [] }),
      row("left", "j", { after: ["root"], think_ms: 5 }),
      row("right", "j", { after: ["root"], think_ms: 5 }),
      row("join", "j", { after: ["left", "right"], think_ms: 5 }),
    ];
    const seen = new Map<string, readonly HistoryTurn[] | null>();
    const { byId } = await runPlan(
      plan(rows, { pacing: "jobs" }),
      (id) => ({ service_ms: 10, text: `said ${id}` }),
      {
        env: {
          history: "live",
          prepare: (planned, history) => {
            seen.set(planned.request_id, history);
            return { request_id: planned.request_id, body_bytes: 0 };
          },
        },
      },
    );
    expect(seen.get("root")).toBeNull();
    expect(seen.get("left")?.map((h) => h.text)).toEqual(["said root"]);
    expect(seen.get("join")?.map((h) => h.text)).toEqual(["said root", "said left", "said right"]);
    expect(byId.get("join")?.sent_ms).toBe(30);
  });
});
