import type { Ms } from "../../core/units.ts";
import {
  type Transformed,
  type WorkJob,
  type Workload,
  type WorkTurn,
  withOffset,
  withThink,
  withTurns,
} from "../workload.ts";

export interface ScaledThink extends Transformed {
  /** Gaps that `max_gap_ms` shortened. */
  readonly capped: number;
}

/**
 * Think and tool times of a dependency-preserving replay: scaled (`--think-scale`), then capped (`--max-gap`). An
 * unknown one is 0, a negative one (the agent did not wait) is 0; both are counted.
 */
export function scaleThink(jobs: Workload, scale: number, maxGap: Ms | null): ScaledThink {
  let capped = 0;
  let unknown = 0;
  let negative = 0;
  let children = 0;
  const scaleTurn = (turn: WorkTurn): WorkTurn => {
    if (turn.parents.length === 0) return turn;
    children++;
    if (turn.think_ms === null) unknown++;
    else if (turn.think_ms < 0) negative++;
    let think = Math.max(turn.think_ms ?? 0, 0) * scale;
    if (maxGap !== null && think > maxGap) {
      think = maxGap;
      capped++;
    }
    return think === turn.think_ms ? turn : withThink(turn, think);
  };
  const scaled = jobs.map((job) => (job.turns.length === 1 ? job : withTurns(job, job.turns.map(scaleTurn))));
  const notes: string[] = [];
  if (unknown > 0)
    notes.push(`think time of ${unknown} of ${children} later turns is unknown and taken as 0`);
  if (negative > 0) notes.push(`${negative} negative think times are taken as 0`);
  if (scale !== 1) notes.push(`think and tool times scaled by ${scale}`);
  if (maxGap !== null) notes.push(`${capped} of ${children} think times capped at ${maxGap} ms`);
  return { jobs: scaled, notes, capped };
}

/**
 * `--max-gap` for what is released by time: an idle stretch inside a job (from the latest recorded end, or arrival, to the
 * next arrival) longer than the cap is shortened, and what follows in that job moves forward. `timed` says whether every
 * turn has its recorded time, or only the turns without parents do: then the gaps before the others are think times, which
 * {@link scaleThink} caps and counts. `speed` is what the offsets were divided by.
 */
export function capIdleGaps(
  jobs: Workload,
  maxGap: Ms | null,
  { timed, speed }: { readonly timed: "all" | "roots"; readonly speed: number },
): ScaledThink {
  if (maxGap === null) return { jobs, notes: [], capped: 0 };
  let capped = 0;
  const shortened = jobs.map((job) => {
    if (timed === "roots" && !startsTwice(job)) return job;
    const result = capJob(job, maxGap, speed, timed);
    capped += result.capped;
    return result.job;
  });
  const note = `${capped} idle gaps inside jobs capped at ${maxGap} ms`;
  return { jobs: shortened, notes: timed === "all" || capped > 0 ? [note] : [], capped };
}

/** Several turns that wait for nobody: the later ones begin by the clock. */
function startsTwice({ turns }: WorkJob): boolean {
  let roots = 0;
  for (const turn of turns) if (turn.parents.length === 0) roots++;
  return roots > 1;
}

function capJob(
  job: WorkJob,
  maxGap: Ms,
  speed: number,
  timed: "all" | "roots",
): { job: WorkJob; capped: number } {
  const order = job.turns
    .map((turn, t) => ({ t, offset: turn.offset_ms }))
    .filter((item): item is { t: number; offset: Ms } => item.offset !== null)
    .sort((a, b) => a.offset - b.offset || a.t - b.t);
  const turns = [...job.turns];
  let capped = 0;
  let removed = 0;
  let busyUntil = order[0]?.offset ?? 0;
  for (const { t, offset } of order) {
    const turn = turns[t] as WorkTurn;
    const idle = offset - busyUntil;
    if (idle > maxGap) {
      removed += idle - maxGap;
      if (timed === "all" || turn.parents.length === 0) capped++;
    }
    turns[t] = withOffset(turn, offset - removed);
    const { recorded, arrival_ms } = turn.request;
    const service = recorded?.end_ms != null && arrival_ms !== null ? recorded.end_ms - arrival_ms : 0;
    busyUntil = Math.max(busyUntil, offset + Math.max(service, 0) / speed);
  }
  return { job: withTurns(job, turns), capped };
}
