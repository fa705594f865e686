/** A start instant that several dispatchers of one run agree on, and what they tell as they go. */
import { describe, expect, it } from "vitest";
import { load } from "../../test/support/load-requests.ts";
import { runPlan } from "../../test/support/run-plan.ts";
import { sleep } from "../core/clock.ts";
import { VirtualClock } from "../core/virtual-clock.ts";
import { planLoad } from "../plan/plan-load.ts";

const plan = planLoad(
  load(3, (i) => 20 * i),
  { arrivals: "given", max_concurrency: 2 },
);

describe("agreeStart", () => {
  it("is asked when the bodies are ready, and gives t0", async () => {
    const clock = new VirtualClock(1000);
    const asked: number[] = [];
    const agreeStart = async (): Promise<number> => {
      asked.push(clock.now());
      await sleep(clock, 300);
      return 1500;
    };
    const { records, result } = await runPlan(plan, 5, { clock, env: { agreeStart, startAt: 9999 } });
    expect(asked).toEqual([1000]);
    expect(result.t0).toBe(1500);
    expect(records.map(({ sent_ms }) => sent_ms)).toEqual([0, 20, 40]);
  });

  it("is kept when it has passed: who comes late is late", async () => {
    const clock = new VirtualClock(1000);
    const agreeStart = (): Promise<number> => Promise.resolve(clock.now() - 30);
    const { records } = await runPlan(plan, 5, { clock, env: { agreeStart } });
    expect(records.map(({ intended_ms }) => intended_ms)).toEqual([0, 20, 40]);
    // 30 ms too late: the first two at once, the third in time.
    expect(records.map(({ sent_ms }) => sent_ms)).toEqual([30, 30, 40]);
  });

  it("is of no use to a run that was stopped while it was waited for", async () => {
    const clock = new VirtualClock(1000);
    let stop = (): void => undefined;
    const agreeStart = async (): Promise<number> => {
      stop();
      await sleep(clock, 100);
      return clock.now();
    };
    const { dispatch } = await import("./dispatch.ts");
    const { FixedServiceClient } = await import("../../test/support/fixed-service-client.ts");
    const client = new FixedServiceClient(clock, () => ({ service_ms: 5 }));
    const run = dispatch(plan, {
      clock,
      client,
      prepare: (planned) => client.prepare(planned),
      history: "recorded",
      keep: { keepChunks: false, keepText: false },
      onRecord: () => undefined,
      agreeStart,
    });
    stop = () => run.drain(0);
    const result = await clock.runUntil(run.done);
    expect(result).toMatchObject({ not_sent: 3, interrupted: true });
    expect(client.sends).toEqual([]);
  });
});

describe("onSend and onRecord", () => {
  it("tell the request's place in the plan, when it was due and its slot", async () => {
    const sends: unknown[] = [];
    const records: unknown[] = [];
    await runPlan(plan, 50, {
      env: {
        onSend: (index, intended, slot) => sends.push([index, intended, slot]),
        onRecord: ({ request_id }, index) => records.push([request_id, index]),
      },
    });
    // Two slots, 50 ms each: the third, due at 40, gets the first one's at 50.
    expect(sends).toEqual([
      [0, 0, 0],
      [1, 20, 20],
      [2, 40, 50],
    ]);
    expect(records).toEqual(load(3).map(({ request_id }, i) => [request_id, i]));
  });
});
