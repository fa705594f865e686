/** A trace on its way to a plan: transforms take one workload and give the next, with what they did in words. */
import type { Ms, PerSecond } from "../core/units.ts";
import type { TraceRequest } from "../trace/trace-request.ts";
import type { ResolvedJob } from "../trace/jobs.ts";

export interface WorkTurn {
  readonly request: TraceRequest;
  readonly parents: readonly number[];
  readonly think_ms: Ms | null;
  /** Arrival as an offset from the workload's first; `null` where the trace does not tell. */
  readonly offset_ms: Ms | null;
}

export interface WorkJob {
  readonly job_id: string;
  readonly turns: readonly WorkTurn[];
  readonly budget_ms: Ms | null;
  /** 0 for the original. */
  readonly copy: number;
  /** Which job of the trace this is (or is a copy of). */
  readonly origin: number;
  /** Closed runs: start this much after the job's slot came free. */
  readonly start_delay_ms: Ms;
}

export type Workload = readonly WorkJob[];

export interface Transformed {
  readonly jobs: Workload;
  /** One line each, for the person who runs it. */
  readonly notes: readonly string[];
}

/** Offsets are the arrivals as recorded; `shiftToZero` makes the first 0. */
export function workloadOf(jobs: readonly ResolvedJob[]): Workload {
  return jobs.map((job, origin) => ({
    job_id: job.job_id,
    turns: job.turns.map((turn) => ({
      request: turn.request,
      parents: turn.parents,
      think_ms: turn.think_ms,
      offset_ms: turn.request.arrival_ms,
    })),
    budget_ms: job.budget_ms,
    copy: 0,
    origin,
    start_delay_ms: 0,
  }));
}

/** When the job begins: the earliest of its roots' offsets, else of all its turns'; `null` if none is known. */
export function jobStart(job: WorkJob): Ms | null {
  let roots: Ms | null = null;
  let any: Ms | null = null;
  for (const turn of job.turns) {
    const offset = turn.offset_ms;
    if (offset === null) continue;
    if (any === null || offset < any) any = offset;
    if (turn.parents.length === 0 && (roots === null || offset < roots)) roots = offset;
  }
  return roots ?? any;
}

/** A workload whose offsets have passed through `map` (turns without an offset are left alone). */
export function mapOffsets(jobs: Workload, map: (offset: Ms) => Ms): Workload {
  return jobs.map((job) =>
    withTurns(
      job,
      job.turns.map((turn) => (turn.offset_ms === null ? turn : withOffset(turn, map(turn.offset_ms)))),
    ),
  );
}

// Literals, not spreads: a trace may have a million turns, and every transform makes them anew.

export function withTurns(job: WorkJob, turns: readonly WorkTurn[]): WorkJob {
  return {
    job_id: job.job_id,
    turns,
    budget_ms: job.budget_ms,
    copy: job.copy,
    origin: job.origin,
    start_delay_ms: job.start_delay_ms,
  };
}

export function withOffset(turn: WorkTurn, offset_ms: Ms | null): WorkTurn {
  return { request: turn.request, parents: turn.parents, think_ms: turn.think_ms, offset_ms };
}

export function withThink(turn: WorkTurn, think_ms: Ms): WorkTurn {
  return { request: turn.request, parents: turn.parents, think_ms, offset_ms: turn.offset_ms };
}

/** Earliest and latest offset; `null` where no turn has one. */
export function offsetRange(jobs: Workload): { first: Ms; last: Ms; known: number } | null {
  let first = Infinity;
  let last = -Infinity;
  let known = 0;
  for (const job of jobs) {
    for (const { offset_ms } of job.turns) {
      if (offset_ms === null) continue;
      known++;
      if (offset_ms < first) first = offset_ms;
      if (offset_ms > last) last = offset_ms;
    }
  }
  return known === 0 ? null : { first, last, known };
}

export function countTurns(jobs: Workload): number {
  let turns = 0;
  for (const job of jobs) turns += job.turns.length;
  return turns;
}

/** The gap of (N−1) even steps at a rate, ms: the span that N arrivals take. */
export function spanAtRate(n: number, rate: PerSecond): Ms {
  return (Math.max(n - 1, 0) / rate) * 1000;
}
