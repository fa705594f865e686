/** A plan in parts, one for each lane of load: whole jobs stay together, since their turns depend on each other. */
import type { Plan, PlannedJob, PlannedRequest, Release } from "./plan.ts";

export interface PlanPart {
  readonly plan: Plan;
  /** Position in the whole plan of each request of the part, ascending. */
  readonly requests: Uint32Array;
  readonly jobs: Uint32Array;
}

/**
 * At most `lanes` parts of about equal numbers of requests, none empty. Caps are shared out so that their sum is the
 * plan's cap (fewer lanes if the cap is smaller); a free slot then goes to the earliest intended time of its own lane.
 */
export function splitPlan(plan: Plan, lanes: number): PlanPart[] {
  const cap = Math.min(plan.max_concurrency ?? Infinity, plan.max_concurrent_jobs ?? Infinity);
  const n = Math.max(1, Math.min(lanes, cap, plan.jobs.length));
  const loads = Array.from({ length: n }, () => 0);
  const laneOf = plan.jobs.map((job) => {
    // Jobs in order of start to the lane with the least so far: even in number, and in time.
    const lane = loads.indexOf(Math.min(...loads));
    loads[lane] = (loads[lane] as number) + job.requests.length;
    return lane;
  });
  return loads.map((_, lane) => partOf(plan, laneOf, lane, n));
}

function partOf(plan: Plan, laneOf: readonly number[], lane: number, lanes: number): PlanPart {
  const jobs = plan.jobs.filter((job) => laneOf[job.index] === lane);
  const requests = plan.requests.filter((request) => laneOf[request.job] === lane);
  const newRequest = new Map(requests.map((request, position) => [request.index, position]));
  const newJob = new Map(jobs.map((job, position) => [job.index, position]));
  const at = (index: number): number => newRequest.get(index) as number;
  return {
    plan: {
      ...plan,
      requests: requests.map((request, index): PlannedRequest => ({
        ...request,
        index,
        job: newJob.get(request.job) as number,
        release: moved(request.release, at),
      })),
      jobs: jobs.map((job, index): PlannedJob => ({ ...job, index, requests: job.requests.map(at) })),
      max_concurrency: share(plan.max_concurrency, lane, lanes),
      max_concurrent_jobs: share(plan.max_concurrent_jobs, lane, lanes),
    },
    requests: Uint32Array.from(requests, (request) => request.index),
    jobs: Uint32Array.from(jobs, (job) => job.index),
  };
}

function moved(release: Release, at: (index: number) => number): Release {
  if (release.kind === "after") return { ...release, parents: release.parents.map(at) };
  return release.kind === "at" && release.needs !== undefined
    ? { ...release, needs: release.needs.map(at) }
    : release;
}

function share(cap: number | null, lane: number, lanes: number): number | null {
  return cap === null ? null : Math.floor(cap / lanes) + (lane < cap % lanes ? 1 : 0);
}
