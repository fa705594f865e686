import { countJobs, type Transformed, type Workload } from "../workload.ts";

/**
 * Closed runs: every job `copies` times, round by round (all jobs once, then all again). A copy has ids of its own
 * (`job~1`) and a fresh `copy` number, so that its made-up text, and with it its prefix cache, is its own.
 */
export function copyJobs(work: Workload, copies: number, shared: boolean): Transformed {
  if (copies === 1) return { jobs: work, notes: [] };
  const jobs = countJobs(work);
  const turns = work.row.length;
  const first = new Int32Array(jobs * copies + 1);
  const copy = new Int32Array(jobs * copies);
  // Jobs may be copies already, round by round: further ones have numbers of their own.
  const rounds = (work.copy[jobs - 1] as number) + 1;
  for (let round = 0; round < copies; round++) {
    for (let job = 0; job < jobs; job++) {
      copy[round * jobs + job] = round * rounds + (work.copy[job] as number);
      first[round * jobs + job + 1] = round * turns + (work.first[job + 1] as number);
    }
  }
  const sharing = shared ? "copies share their text" : "copies share no text";
  return {
    jobs: {
      ...work,
      first,
      row: repeat(work.row, copies),
      parents: Array.from({ length: copies }, () => work.parents).flat(),
      think_ms: repeat(work.think_ms, copies),
      offset_ms: repeat(work.offset_ms, copies),
      job: repeat(work.job, copies),
      budget_ms: repeat(work.budget_ms, copies),
      copy,
      origin: repeat(work.origin, copies),
      start_delay_ms: repeat(work.start_delay_ms, copies),
    },
    notes: [`${copies} copies of each of ${jobs} jobs (${sharing})`],
  };
}

function repeat<A extends Float64Array | Int32Array>(column: A, times: number): A {
  const all = new (column.constructor as new (length: number) => A)(column.length * times);
  for (let round = 0; round < times; round++) all.set(column, round * column.length);
  return all;
}
