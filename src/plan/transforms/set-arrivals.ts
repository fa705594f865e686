import { formatDuration } from "../../core/duration.ts";
import { UserError } from "../../core/failure.ts";
import type { Rng } from "../../core/random.ts";
import type { Ms } from "../../core/units.ts";
import { arrivalSpan, makeArrivals } from "../arrivals/index.ts";
import { type Entry, entriesOf, sortEntries } from "../entries.ts";
import type { PlanOptions } from "../plan-options.ts";
import {
  jobStart,
  mapOffsets,
  offsetRange,
  type Transformed,
  type Workload,
  withOffset,
  withTurns,
} from "../workload.ts";

type ArrivalOptions = Pick<
  PlanOptions,
  "arrival_type" | "arrival_rate" | "arrival_seed" | "burstiness" | "normalize"
>;

/**
 * The arrival step (COMPAT A). What arrives is an entry where every request has its time (`by: "entry"`), a whole job
 * where only its start has (`by: "job"`). `trace` keeps the recorded times, stretched to (N−1)/rate if a rate is given
 * (equal times fall back to even spacing); the other types make times up over the same span.
 */
export function setArrivals(
  jobs: Workload,
  by: "entry" | "job",
  options: ArrivalOptions,
  rng: Rng,
): Transformed {
  const { arrival_type: type, arrival_rate: rate } = options;
  if (type === "trace" && rate === null) return { jobs, notes: [] };
  const entries = sortEntries(by === "entry" ? entriesOf(jobs) : jobEntries(jobs));
  const n = entries.length;
  const recordedSpan = spanOf(entries);
  const span = arrivalSpan(n, rate, recordedSpan);
  if (span === null) {
    throw new UserError(`--arrival-type ${type} needs --arrival-rate: the trace has no arrival times`);
  }
  if (type !== "trace" && rate === null && span === 0 && n > 1) {
    throw new UserError(`--arrival-type ${type} needs --arrival-rate: all recorded arrivals are equal`);
  }
  if (type === "trace" && recordedSpan !== null && recordedSpan > 0) {
    const factor = span / recordedSpan;
    return {
      jobs: mapOffsets(jobs, (offset) => offset * factor),
      notes: [
        `recorded arrivals stretched to ${formatDuration(span)} (${by === "job" ? "jobs" : "requests"} at ${rate}/s)`,
      ],
    };
  }
  const process = type === "trace" ? "uniform" : type;
  const notes =
    type === "trace" ? ["recorded arrivals are equal or missing: spaced evenly at the given rate"] : [];
  const offsets = makeArrivals(process, {
    n,
    span_ms: span,
    burstiness: options.burstiness,
    normalize: options.normalize,
    rng,
  });
  return { jobs: place(jobs, entries, offsets, by), notes: [...notes, `arrivals are made up: ${process}`] };
}

function jobEntries(jobs: Workload): Entry[] {
  return jobs.map((job, j) => ({ offset_ms: jobStart(job), members: [[j, 0]] }));
}

function spanOf(entries: readonly Entry[]): Ms | null {
  let first = Infinity;
  let last = -Infinity;
  for (const { offset_ms } of entries) {
    if (offset_ms === null) return null;
    first = Math.min(first, offset_ms);
    last = Math.max(last, offset_ms);
  }
  return entries.length === 0 ? null : last - first;
}

function place(
  jobs: Workload,
  entries: readonly Entry[],
  offsets: Float64Array,
  by: "entry" | "job",
): Workload {
  const moved = jobs.map((job) => ({ job, turns: [...job.turns] }));
  entries.forEach((entry, i) => {
    const target = offsets[i] as number;
    for (const [j, t] of entry.members) {
      const turns = moved[j]?.turns ?? [];
      if (by === "entry") {
        const turn = turns[t];
        if (turn !== undefined) turns[t] = withOffset(turn, target);
        continue;
      }
      // The whole job moves; what arrives later inside it keeps its distance from the start.
      const shift = target - (entry.offset_ms ?? target);
      turns.forEach((turn, at) => {
        const own = turn.offset_ms ?? (turn.parents.length === 0 ? target - shift : null);
        turns[at] = withOffset(turn, own === null ? null : own + shift);
      });
    }
  });
  return moved.map(({ job, turns }) => withTurns(job, turns));
}

/** Span of all arrivals of a workload, ms; `null` without times. */
export function workloadSpan(jobs: Workload): Ms | null {
  const range = offsetRange(jobs);
  return range === null ? null : range.last - range.first;
}
