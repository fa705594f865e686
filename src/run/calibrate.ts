/**
 * `--calibrate`: every request once, alone on the server, before the run. Its records (`calibration.jsonl`) tell the unloaded
 * service times, which relative budgets (`--job-budget 2x`) and the split of TTFT into queue and prefill stand on.
 */
import { EXIT, UserError } from "../core/failure.ts";
import { dispatch } from "../dispatch/dispatch.ts";
import type { Plan, PlannedRequest, Release } from "../plan/plan.ts";
import type { PreparedRequest } from "../client/client.ts";
import type { RequestRecord } from "../record/request-record.ts";
import type { Target } from "./target.ts";

/** The plan's requests one job at a time and one request at a time, without think times; of each job only the original. */
export function calibrationPlan(whole: Plan): Plan {
  const { spare_from: _none, ...plan } = originals(whole);
  const requests = plan.requests.map((planned): PlannedRequest => {
    const release: Release =
      planned.release.kind === "after" ? { ...planned.release, think_ms: 0 } : { kind: "slot", delay_ms: 0 };
    return { ...planned, release };
  });
  return { ...plan, requests, pacing: "closed", max_concurrency: 1, max_concurrent_jobs: 1, span_ms: null };
}

/** Copies stand behind all originals, in the plan's jobs as in its requests. */
function originals(plan: Plan): Plan {
  const first = plan.jobs.findIndex((job) => job.copy_of !== undefined);
  if (first === -1) return plan;
  const jobs = plan.jobs.slice(0, first);
  return { ...plan, jobs, requests: plan.requests.filter((planned) => planned.job < first) };
}

/** Runs the pass. What fails is in the records; an interrupted pass is a {@link UserError}: nothing is left to be measured. */
export async function calibrate(
  target: Target,
  plan: Plan,
  prepare: (planned: PlannedRequest) => PreparedRequest,
  onInterrupt: (handler: (count: number) => void) => () => void,
): Promise<readonly RequestRecord[]> {
  const records: RequestRecord[] = [];
  const run = dispatch(calibrationPlan(plan), {
    clock: target.clock,
    client: target.client,
    prepare: (planned) => prepare(planned),
    history: "recorded",
    keep: { keepChunks: false, keepText: false },
    onRecord: (record) => records.push(record),
  });
  const unregister = onInterrupt((count) => (count === 1 ? run.drain() : run.abort()));
  try {
    const { interrupted } = await target.drive(run.done);
    if (interrupted)
      throw new UserError("interrupted during the calibration", {
        hint: "nothing was measured",
        exitCode: EXIT.interrupted,
      });
  } finally {
    unregister();
  }
  return records;
}
