/** Runs a plan on a virtual clock against fixed service times and returns what the log would hold. */
import { VirtualClock } from "../../src/core/virtual-clock.ts";
import type { Ms } from "../../src/core/units.ts";
import { dispatch } from "../../src/dispatch/dispatch.ts";
import type { DispatchEnv, DispatchResult, DispatchRun } from "../../src/dispatch/dispatch-env.ts";
import type { Plan } from "../../src/plan/plan.ts";
import type { RequestRecord } from "../../src/record/request-record.ts";
import { type FixedAnswer, FixedServiceClient } from "./fixed-service-client.ts";

export interface FixedRun {
  readonly records: RequestRecord[];
  /** By request id. */
  readonly byId: Map<string, RequestRecord>;
  readonly result: DispatchResult;
  readonly client: FixedServiceClient;
  readonly counts: DispatchRun["counts"];
}

export interface FixedRunOptions {
  /** For tests that look at the time; default: a new one. */
  readonly clock?: VirtualClock;
  readonly env?: Partial<DispatchEnv>;
  /** Called at an instant of the run (ms from t0). */
  readonly at?: readonly (readonly [Ms, (run: DispatchRun) => void])[];
}

export async function runPlan(
  plan: Plan,
  answer: Ms | ((id: string) => FixedAnswer),
  { env = {}, at = [], clock = new VirtualClock(1000) }: FixedRunOptions = {},
): Promise<FixedRun> {
  const client = new FixedServiceClient(
    clock,
    typeof answer === "number" ? () => ({ service_ms: answer }) : answer,
  );
  const records: RequestRecord[] = [];
  const run = dispatch(plan, {
    clock,
    client,
    prepare: (planned) => client.prepare(planned),
    history: "recorded",
    keep: { keepChunks: false, keepText: false },
    onRecord: (record) => records.push(record),
    onStart: ({ t0 }) => {
      for (const [when, act] of at) clock.at(t0 + when, () => act(run));
    },
    ...env,
  });
  const result = await clock.runUntil(run.done);
  const byId = new Map(records.map((record) => [record.request_id, record]));
  return { records, byId, result, client, counts: run.counts };
}
