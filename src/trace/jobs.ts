/**
 * Jobs as DAGs of turns: which turns a turn waits for, and how long it thinks after the last of them (FORMATS, "Ours";
 * METRICS, "Settled readings").
 */
import { UserError } from "../core/failure.ts";
import { plainText } from "../core/terminal-text.ts";
import type { Ms } from "../core/units.ts";
import { IdIndex } from "./id-index.ts";
import { linkParents, type JobFault } from "./parents.ts";
import type { TraceRequest } from "./trace-request.ts";

/** `recorded`: the source told `think_ms`. `inferred`: arrival − recorded end of the last parent. */
export type ThinkOrigin = "recorded" | "inferred" | "missing";

export interface ResolvedTurn {
  readonly request: TraceRequest;
  /** Positions in the job's turns, ascending, all smaller than this turn's own; empty for a root. */
  readonly parents: readonly number[];
  /** Think and tool time after the end of the last parent, ≥ 0. `null` = unknown, or a root that tells none. */
  readonly think_ms: Ms | null;
  readonly think_origin: ThinkOrigin;
  /** Arrival − recorded end of the last parent, as recorded: negative where the turn did not wait. */
  readonly gap_ms: Ms | null;
}

export interface ResolvedJob {
  readonly job_id: string;
  /** Parents first, by time where times are told. */
  readonly turns: readonly ResolvedTurn[];
  readonly budget_ms: Ms | null;
}

/**
 * Groups requests into jobs, ordered by their first arrival (then by first appearance), and resolves each turn's
 * parents and think time. Duplicate ids, unknown parents, cycles, a turn before its parent and a budget of zero are a
 * {@link UserError} that names the request.
 */
export function resolveJobs(requests: readonly TraceRequest[]): ResolvedJob[] {
  const ids = new IdIndex((position) => (requests[position] as TraceRequest).request_id);
  for (const { request_id } of requests) {
    if (!ids.add(request_id)) throw new UserError(`request_id "${plainText(request_id)}" occurs twice`);
  }
  const jobs: { job: ResolvedJob; first: Ms }[] = [];
  for (const [job_id, members] of groupByJob(requests)) {
    const job = resolveJob(job_id, members);
    let first = Infinity;
    for (const { arrival_ms } of members) if (arrival_ms !== null && arrival_ms < first) first = arrival_ms;
    jobs.push({ job, first });
  }
  // A stable sort: equal (and unknown) arrivals keep the order of the file. Infinity − Infinity is NaN, hence the test.
  jobs.sort((a, b) => (a.first === b.first ? 0 : a.first - b.first));
  return jobs.map(({ job }) => job);
}

/** The requests of each job, in the order of the file. */
export function groupByJob(requests: readonly TraceRequest[]): Map<string, TraceRequest[]> {
  const jobs = new Map<string, TraceRequest[]>();
  // Rows of a job mostly stand together.
  let job: string | null = null;
  let members: TraceRequest[] = [];
  for (const request of requests) {
    if (request.job_id !== job) {
      job = request.job_id;
      const known = jobs.get(job);
      members = known ?? [];
      if (known === undefined) jobs.set(job, members);
    }
    members.push(request);
  }
  return jobs;
}

/** The structural faults of one job's requests: what {@link resolveJobs} would refuse, by position. */
export function findJobFaults(members: readonly TraceRequest[]): readonly JobFault[] {
  const { faults, order } = linkParents(members);
  if (faults.length > 0) return faults;
  const budget = members.findIndex((request) => request.budget_ms !== null && !(request.budget_ms > 0));
  return budget === -1 || order === null ? [] : [{ position: budget, reason: ZERO_BUDGET }];
}

const ZERO_BUDGET = "a budget must be more than 0 ms";

function resolveJob(job_id: string, members: readonly TraceRequest[]): ResolvedJob {
  return isChain(members) ? resolveChain(job_id, members) : resolveGraph(job_id, members);
}

/**
 * Rows that stand in the file as they follow each other: no explicit parents, turns that rise (or all 0), arrivals that
 * never fall. Nearly every job of a large trace is one, and needs none of the graph's tables.
 */
function isChain(members: readonly TraceRequest[]): boolean {
  let turn = -1;
  let rising = true;
  let zero = true;
  let arrival = -Infinity;
  for (const request of members) {
    if (request.after !== null) return false;
    const own = request.turn ?? 0;
    if (own <= turn) rising = false;
    if (own !== 0) zero = false;
    turn = own;
    if (request.arrival_ms === null) continue;
    if (request.arrival_ms < arrival) return false;
    arrival = request.arrival_ms;
  }
  return rising || zero;
}

const ROOT: readonly number[] = [];
/** `[0]`, `[1]`, ...: the parents of a chain's turns, shared by all chains. */
const PREVIOUS: (readonly number[])[] = [];

function resolveChain(job_id: string, members: readonly TraceRequest[]): ResolvedJob {
  let budget_ms: Ms | null = null;
  let end: Ms | null = null;
  const turns: ResolvedTurn[] = [];
  for (const request of members) {
    if (request.budget_ms !== null) {
      if (!(request.budget_ms > 0)) throw jobError(request, ZERO_BUDGET);
      budget_ms ??= request.budget_ms;
    }
    const at = turns.length;
    turns.push(resolveTurn(request, at === 0 ? ROOT : (PREVIOUS[at - 1] ??= [at - 1]), end));
    end = request.recorded === null ? null : request.recorded.end_ms;
  }
  return { job_id, turns, budget_ms };
}

function resolveGraph(job_id: string, members: readonly TraceRequest[]): ResolvedJob {
  const { parents, order, faults } = linkParents(members);
  const fault = faults[0];
  if (fault !== undefined || order === null) {
    throw jobError(members[fault?.position ?? 0] as TraceRequest, fault?.reason ?? "cannot be ordered");
  }
  const positions = new Int32Array(members.length);
  order.forEach((member, position) => {
    positions[member] = position;
  });
  // Turns that share a parent list (equal turns) share its translation and the end of its last parent.
  const lists = new Map<readonly number[], { positions: readonly number[]; end: Ms | null }>();
  const turns: ResolvedTurn[] = [];
  let budget_ms: Ms | null = null;
  for (const member of order) {
    const request = members[member] as TraceRequest;
    const own = parents[member] as readonly number[];
    let list = lists.get(own);
    if (list === undefined) {
      list = {
        positions: own.map((parent) => positions[parent] as number).sort((a, b) => a - b),
        end: lastEnd(own, members),
      };
      lists.set(own, list);
    }
    if (request.budget_ms !== null && !(request.budget_ms > 0)) throw jobError(request, ZERO_BUDGET);
    budget_ms ??= request.budget_ms;
    turns.push(resolveTurn(request, list.positions, list.end));
  }
  return { job_id, turns, budget_ms };
}

function resolveTurn(request: TraceRequest, parents: readonly number[], end: Ms | null): ResolvedTurn {
  const gap_ms = end === null || request.arrival_ms === null ? null : request.arrival_ms - end;
  if (request.think_ms !== null) {
    if (!(request.think_ms >= 0)) throw jobError(request, "think_ms must be ≥ 0");
    return { request, parents, think_ms: request.think_ms, think_origin: "recorded", gap_ms };
  }
  if (gap_ms === null) return { request, parents, think_ms: null, think_origin: "missing", gap_ms };
  return { request, parents, think_ms: Math.max(0, gap_ms), think_origin: "inferred", gap_ms };
}

/** Recorded end of the last parent; `null` for a root, or where the end of one of them is not told. */
function lastEnd(parents: readonly number[], members: readonly TraceRequest[]): Ms | null {
  let last: Ms | null = null;
  for (const parent of parents) {
    const end = (members[parent] as TraceRequest).recorded?.end_ms ?? null;
    if (end === null) return null;
    if (last === null || end > last) last = end;
  }
  return last;
}

function jobError(request: TraceRequest, reason: string): UserError {
  return new UserError(
    `request "${plainText(request.request_id)}" of job "${plainText(request.job_id)}": ${plainText(reason)}`,
    { hint: "mend the trace, or leave this job out of it" },
  );
}
