import type { Ms } from "../../core/units.ts";
import { FIELD } from "../../trace/trace-table.ts";
import { orderByTime } from "../entries.ts";
import { countJobs, type Transformed, type Workload } from "../workload.ts";

export interface ScaledThink extends Transformed {
  /** Gaps that `max_gap_ms` shortened. */
  readonly capped: number;
}

/**
 * Think and tool times of a dependency-preserving replay: scaled (`--think-scale`), then capped (`--max-gap`). An
 * unknown one is 0, a negative one (the agent did not wait) is 0; both are counted.
 */
export function scaleThink(work: Workload, scale: number, maxGap: Ms | null): ScaledThink {
  let [capped, unknown, negative, children] = [0, 0, 0, 0];
  const think_ms = work.think_ms.slice();
  for (let turn = 0; turn < think_ms.length; turn++) {
    if (work.parents[turn]?.length === 0) continue;
    children++;
    const told = think_ms[turn] as Ms;
    if (Number.isNaN(told)) unknown++;
    else if (told < 0) negative++;
    let think = (told > 0 ? told : 0) * scale;
    if (maxGap !== null && think > maxGap) {
      think = maxGap;
      capped++;
    }
    think_ms[turn] = think;
  }
  const notes: string[] = [];
  if (unknown > 0)
    notes.push(`think time of ${unknown} of ${children} later turns is unknown and taken as 0`);
  if (negative > 0) notes.push(`${negative} negative think times are taken as 0`);
  if (scale !== 1) notes.push(`think and tool times scaled by ${scale}`);
  if (maxGap !== null) notes.push(`${capped} of ${children} think times capped at ${maxGap} ms`);
  return { jobs: { ...work, think_ms }, notes, capped };
}

/**
 * `--max-gap` for what is released by time: an idle stretch inside a job (from the latest recorded end, or arrival, to the
 * next arrival) longer than the cap is shortened, and what follows in that job moves forward. `timed` says whether every
 * turn has its recorded time, or only the turns without parents do: then the gaps before the others are think times, which
 * {@link scaleThink} caps and counts. `speed` is what the offsets were divided by.
 */
export function capIdleGaps(
  work: Workload,
  maxGap: Ms | null,
  { timed, speed }: { readonly timed: "all" | "roots"; readonly speed: number },
): ScaledThink {
  if (maxGap === null) return { jobs: work, notes: [], capped: 0 };
  const offset_ms = work.offset_ms.slice();
  let capped = 0;
  for (let job = 0; job < countJobs(work); job++) {
    if (timed === "roots" && !startsTwice(work, job)) continue;
    capped += capJob(work, job, offset_ms, maxGap, speed, timed);
  }
  const note = `${capped} idle gaps inside jobs capped at ${maxGap} ms`;
  return { jobs: { ...work, offset_ms }, notes: timed === "all" || capped > 0 ? [note] : [], capped };
}

/** Several turns that wait for nobody: the later ones begin by the clock. */
function startsTwice({ first, parents }: Workload, job: number): boolean {
  let roots = 0;
  for (let turn = first[job] as number; turn < (first[job + 1] as number); turn++)
    if (parents[turn]?.length === 0) roots++;
  return roots > 1;
}

/** Moves the job's offsets; returns how many gaps were shortened. */
function capJob(
  { requests, row, first, parents }: Workload,
  job: number,
  offset_ms: Float64Array,
  maxGap: Ms,
  speed: number,
  timed: "all" | "roots",
): number {
  const from = first[job] as number;
  const offsets = offset_ms.slice(from, first[job + 1]);
  let capped = 0;
  let removed = 0;
  let busyUntil = NaN;
  for (const t of orderByTime(offsets)) {
    const offset = offsets[t] as Ms;
    if (Number.isNaN(offset)) break;
    const turn = from + t;
    const idle = offset - busyUntil;
    if (idle > maxGap) {
      removed += idle - maxGap;
      if (timed === "all" || parents[turn]?.length === 0) capped++;
    }
    offset_ms[turn] = offset - removed;
    const at = row[turn] as number;
    const service = requests.number(FIELD.end_ms, at) - requests.number(FIELD.arrival_ms, at);
    const end = offset + (service > 0 ? service : 0) / speed;
    if (!(busyUntil >= end)) busyUntil = end;
  }
  return capped;
}
