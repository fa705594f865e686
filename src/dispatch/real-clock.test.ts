import { expect, it } from "vitest";
import { FixedServiceClient } from "../../test/support/fixed-service-client.ts";
import { load } from "../../test/support/load-requests.ts";
import { RealClock } from "../core/real-clock.ts";
import { planLoad } from "../plan/plan-load.ts";
import type { RequestRecord } from "../record/request-record.ts";
import { dispatch } from "./dispatch.ts";

it("on the real clock nothing is sent early, and what waits for a slot waits for the server only", async () => {
  const clock = new RealClock();
  const client = new FixedServiceClient(clock, () => ({ service_ms: 20 }));
  const records: RequestRecord[] = [];
  let start = { t0: 0, t0_wall_ms: 0 };
  const plan = planLoad(
    load(60, (i) => i * 4.3),
    { arrivals: "given", max_concurrency: 3 },
  );
  const result = await dispatch(plan, {
    clock,
    client,
    prepare: (planned) => client.prepare(planned),
    history: "recorded",
    keep: { keepChunks: false, keepText: false },
    onRecord: (record) => records.push(record),
    onStart: (chosen) => {
      start = chosen;
    },
  }).done;
  expect(records).toHaveLength(60);
  for (const r of records) {
    const [intended, slot, sent] = [r.intended_ms, r.slot_ms, r.sent_ms] as [number, number, number];
    expect(slot).toBeGreaterThanOrEqual(intended);
    // Times are differences of doubles: an error of a microsecond is rounding.
    expect(sent).toBeGreaterThanOrEqual(slot - 1e-6);
    expect((r.end_ms as number) - sent).toBeGreaterThanOrEqual(20 - 1e-6);
  }
  expect(client.peak).toBeLessThanOrEqual(3);
  expect(client.sends.map((s) => s.id)).toEqual(load(60).map((item) => item.request_id));
  expect(result.t0).toBe(start.t0);
  expect(Math.abs(result.t0_wall_ms - (clock.wall() - (clock.now() - result.t0)))).toBeLessThan(5);
});
