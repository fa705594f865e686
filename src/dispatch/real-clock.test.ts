import { expect, it } from "vitest";
import { FixedServiceClient } from "../../test/support/fixed-service-client.ts";
import { load } from "../../test/support/load-requests.ts";
import type { Client, ModelRequest, PreparedRequest } from "../client/client.ts";
import { RealClock } from "../core/real-clock.ts";
import { planLoad } from "../plan/plan-load.ts";
import { emptyObservation } from "../record/observation.ts";
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

it("sends that fail at once, each slower than the next one is due, do not keep the run from its end", async () => {
  const clock = new RealClock();
  const client: Client = {
    name: "no ports left",
    prepare: ({ request_id }) => ({ request_id, body_bytes: 0 }),
    send: (_prepared, done) => {
      const begun = clock.now();
      while (clock.now() - begun < 2);
      const failure = { code: "client_resource" as const, message: "EADDRNOTAVAIL", http_status: null };
      queueMicrotask(() => done({ ...emptyObservation(), end_ms: clock.now(), failure }));
      return { cancel: () => undefined };
    },
    close: async () => {},
  };
  const result = await dispatch(
    planLoad(
      load(3000, (i) => i * 0.5),
      { arrivals: "given" },
    ),
    {
      clock,
      client,
      prepare: (planned) =>
        client.prepare({ request_id: planned.request_id } as ModelRequest) as PreparedRequest,
      history: "recorded",
      keep: { keepChunks: false, keepText: false },
      onRecord: () => undefined,
      stop: { duration_ms: 100 },
    },
  ).done;
  expect(result.not_sent).toBeGreaterThan(0);
});
