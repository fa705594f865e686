/** The plan's jobs as `jobs.jsonl` holds them, with what a calibration pass says of each. */
import type { List } from "../core/list.ts";
import type { Ms } from "../core/units.ts";
import type { Plan, PlannedJob, PlannedRequest } from "../plan/plan.ts";
import { requestIdAt, scheduleAt } from "../plan/planned-requests.ts";
import type { PlannedJobRecord } from "../record/manifest.ts";
import type { RequestRecord } from "../record/request-record.ts";

/** `calibration`: the records of the pass; `null` = there was none. `jobs`: those of the plan that count. */
export function* plannedJobRecords(
  plan: Plan,
  calibration: readonly RequestRecord[] | null,
  jobs: List<PlannedJob> = plan.jobs,
): Generator<PlannedJobRecord> {
  const service = calibration === null ? null : serviceTimes(calibration);
  for (const job of jobs) {
    const first = scheduleAt(plan.requests, job.requests[0] as number);
    yield {
      job_id: job.job_id,
      turns: job.requests.length,
      budget_ms: job.budget_ms,
      start_ms: first.release.kind === "at" ? first.release.offset_ms : null,
      recorded_ms: job.recorded_ms,
      ...(service === null ? {} : { unloaded_ms: unloadedTime(job, plan, service) }),
      optimal_hit_rate: job.optimal_hit_rate,
    };
  }
}

function serviceTimes(records: readonly RequestRecord[]): ReadonlyMap<string, Ms> {
  const times = new Map<string, Ms>();
  for (const { request_id, status, sent_ms, end_ms } of records)
    if (status === "ok" && sent_ms !== null && end_ms !== null) times.set(request_id, end_ms - sent_ms);
  return times;
}

/**
 * From the job's intended start to its last end on a server that serves each turn as it did alone, with the plan's think
 * times; `null` where the pass did not see all of it. A copy takes as long as the job it is a copy of.
 */
function unloadedTime(job: PlannedJob, plan: Plan, service: ReadonlyMap<string, Ms>): Ms | null {
  const own = job.requests.map((index) => scheduleAt(plan.requests, index));
  const measured = job.copy_of === undefined ? job : (plan.jobs.at(job.copy_of) as PlannedJob);
  let start = Infinity;
  for (const { release } of own) if (release.kind !== "after") start = Math.min(start, dueOf(release));
  const ends = new Map<number, Ms>();
  let latest = 0;
  for (const [position, { index, release }] of own.entries()) {
    const alone = requestIdAt(plan.requests, measured.requests[position] as number);
    const time = service.get(alone);
    if (time === undefined) return null;
    const begin =
      release.kind === "after"
        ? release.parents.reduce((last, parent) => Math.max(last, ends.get(parent) as Ms), 0) +
          release.think_ms
        : dueOf(release) - start;
    ends.set(index, begin + time);
    latest = Math.max(latest, begin + time);
  }
  return latest;
}

function dueOf(release: Exclude<PlannedRequest["release"], { kind: "after" }>): Ms {
  return release.kind === "at" ? release.offset_ms : release.delay_ms;
}
