import { formatDuration } from "../../core/duration.ts";
import { UserError } from "../../core/failure.ts";
import type { Rng } from "../../core/random.ts";
import type { Ms } from "../../core/units.ts";
import { arrivalSpan, makeArrivals } from "../arrivals/index.ts";
import { type Entries, entriesByTime, entriesOf, jobEntries } from "../entries.ts";
import type { PlanOptions } from "../plan-options.ts";
import { countJobs, mapOffsets, type Transformed, type Workload } from "../workload.ts";

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
  work: Workload,
  by: "entry" | "job",
  options: ArrivalOptions,
  rng: Rng,
): Transformed {
  const { arrival_type: type, arrival_rate: rate } = options;
  if (type === "trace" && rate === null) return { jobs: work, notes: [] };
  const entries = by === "entry" ? entriesOf(work) : jobEntries(work);
  const n = entries.count;
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
      jobs: mapOffsets(work, (offset) => offset * factor),
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
  return { jobs: place(work, entries, offsets, by), notes: [...notes, `arrivals are made up: ${process}`] };
}

/** `null` where an entry has no time. */
function spanOf({ count, offset_ms }: Entries): Ms | null {
  let first = Infinity;
  let last = -Infinity;
  for (const offset of offset_ms) {
    if (Number.isNaN(offset)) return null;
    first = Math.min(first, offset);
    last = Math.max(last, offset);
  }
  return count === 0 ? null : last - first;
}

/** Gives the i-th offset to the i-th entry by time. */
function place(work: Workload, entries: Entries, offsets: Float64Array, by: "entry" | "job"): Workload {
  const targets = new Float64Array(entries.count);
  entriesByTime(entries).forEach((entry, i) => {
    targets[entry] = offsets[i] as Ms;
  });
  const offset_ms = work.offset_ms.slice();
  for (let job = 0; job < countJobs(work); job++) {
    for (let turn = work.first[job] as number; turn < (work.first[job + 1] as number); turn++) {
      const target = targets[entries.of[turn] as number] as Ms;
      if (by === "entry") {
        offset_ms[turn] = target;
        continue;
      }
      // The whole job moves; what arrives later inside it keeps its distance from the start.
      const start = entries.offset_ms[job] as Ms;
      const shift = Number.isNaN(start) ? 0 : target - start;
      const own = offset_ms[turn] as Ms;
      if (!Number.isNaN(own)) offset_ms[turn] = own + shift;
      else if (work.parents[turn]?.length === 0) offset_ms[turn] = target;
    }
  }
  return { ...work, offset_ms };
}
