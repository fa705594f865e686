import { entriesOf, sortEntries } from "../entries.ts";
import {
  jobStart,
  type Transformed,
  type WorkJob,
  type Workload,
  withOffset,
  withTurns,
} from "../workload.ts";

/** `--max-jobs`: the first N jobs by start (as in the trace where starts are unknown). */
export function limitJobs(jobs: Workload, max: number | null): Transformed {
  if (max === null || jobs.length <= max) return { jobs, notes: [] };
  const kept = new Set(
    jobs
      .map((job, j) => ({ j, start: jobStart(job) ?? Infinity }))
      .sort((a, b) => compare(a.start, b.start) || a.j - b.j)
      .slice(0, max)
      .map(({ j }) => j),
  );
  return { jobs: jobs.filter((_, j) => kept.has(j)), notes: [`first ${max} of ${jobs.length} jobs`] };
}

/**
 * `--max-requests`: the first N entries by time (COMPAT A: after the arrival step). A turn without a time of its own
 * counts as late as its parents, so that what is kept always holds its parents.
 */
export function limitRequests(jobs: Workload, max: number | null): Transformed {
  if (max === null) return { jobs, notes: [] };
  const entries = sortEntries(entriesOf(jobs.map(withEffectiveTimes)));
  if (entries.length <= max) return { jobs, notes: [] };
  const kept = jobs.map(() => new Set<number>());
  for (const entry of entries.slice(0, max)) for (const [j, t] of entry.members) kept[j]?.add(t);
  const limited = jobs.flatMap((job, j) => {
    const turns = kept[j] as Set<number>;
    return turns.size === 0 ? [] : [keepTurns(job, turns)];
  });
  return { jobs: limited, notes: [`first ${max} of ${entries.length} entries`] };
}

function withEffectiveTimes(job: WorkJob): WorkJob {
  const start = jobStart(job);
  const times: number[] = [];
  const turns = job.turns.map((turn) => {
    let time = turn.offset_ms ?? start ?? Infinity;
    for (const parent of turn.parents) time = Math.max(time, times[parent] as number);
    times.push(time);
    return time === Infinity ? turn : withOffset(turn, time);
  });
  return withTurns(job, turns);
}

function keepTurns(job: WorkJob, kept: ReadonlySet<number>): WorkJob {
  if (kept.size === job.turns.length) return job;
  const position = new Map<number, number>();
  const turns: WorkJob["turns"][number][] = [];
  job.turns.forEach((turn, t) => {
    if (!kept.has(t)) return;
    position.set(t, turns.length);
    turns.push({
      ...turn,
      parents: turn.parents.flatMap((p) => position.get(p) ?? []),
    });
  });
  return { ...job, turns };
}

function compare(a: number, b: number): number {
  return a === b ? 0 : a - b;
}
