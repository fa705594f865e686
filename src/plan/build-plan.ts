import type { Ms } from "../core/units.ts";
import type { Pacing } from "../record/manifest.ts";
import { type PrefixReuse, reuseOfColumns } from "../trace/prefix.ts";
import { commonPrefixes } from "./common-prefix.ts";
import { orderByTime } from "./entries.ts";
import { countEmptyPrompts, PlannedJobs, PlannedRequests, type PlanLayout } from "./planned-requests.ts";
import type { PlanOptions } from "./plan-options.ts";
import type { Plan } from "./plan.ts";
import { outputNotes, toldOutput } from "./transforms/output-length.ts";
import { countJobs, countTurns, jobStarts, type Workload } from "./workload.ts";

/**
 * The last step: every turn of the workload becomes a planned request. Plan order is the order of intended times as far
 * as they are known ahead: with `recorded` pacing by time, otherwise jobs by their start and turns parents first; equal
 * times keep the order of the trace.
 */
export function buildPlan(
  work: Workload,
  pacing: Exclude<Pacing, "load">,
  options: PlanOptions,
  account: { notes: readonly string[]; gaps_capped: number },
): Plan {
  const firstCopy = work.copy.findIndex((copy) => copy > 0);
  const originals = firstCopy === -1 ? countJobs(work) : firstCopy;
  const layout: PlanLayout = {
    ...layOut(work, pacing),
    work,
    pacing,
    output: options.output,
    share_copies: options.share_copies,
    common: options.keep_common && firstCopy !== -1 ? commonPrefixes(work, originals) : null,
  };
  const requests = new PlannedRequests(layout);
  // A copy that shares nothing reuses what its original does.
  const measured = options.share_copies ? countJobs(work) : originals;
  const reuse = options.optimal ? optimalReuse(work, layout.jobs.subarray(0, measured)) : null;
  const copies = options.share_copies ? 1 : options.copies;
  const emptyPrompts = countEmptyPrompts(work);
  return {
    requests,
    jobs: new PlannedJobs(layout, (job) => reuse?.shared.at(job % measured) ?? null),
    pacing,
    max_concurrency: pacing === "closed" ? null : options.max_concurrency,
    max_concurrent_jobs: pacing === "closed" ? (options.max_concurrency ?? 1) : null,
    span_ms: spanOf(layout),
    optimal_hit_rate: reuse?.overall.hit_rate ?? null,
    optimal_cached_tokens: reuse?.overall.hit_rate == null ? null : reuse.overall.cached_tokens * copies,
    notes: [
      ...account.notes,
      ...outputNotes(countTurns(work), (turn) => toldOutput(work, turn), options.output),
      ...(emptyPrompts > 0 ? [`${emptyPrompts} prompts of 0 tokens are sent with 1`] : []),
    ],
    gaps_capped: account.gaps_capped,
  };
}

function layOut(
  work: Workload,
  pacing: Exclude<Pacing, "load">,
): Pick<PlanLayout, "jobs" | "starts" | "turns" | "indexOf" | "jobOf"> {
  const known = jobStarts(work);
  const jobs = orderJobs(work, known);
  const starts = new Float64Array(jobs.length);
  const n = countTurns(work);
  const turns = new Int32Array(n);
  const jobOf = new Int32Array(n);
  let next = 0;
  for (let position = 0; position < jobs.length; position++) {
    const job = jobs[position] as number;
    const start = known[job] as Ms;
    starts[position] = Number.isNaN(start) ? 0 : start;
    for (let turn = work.first[job] as number; turn < (work.first[job + 1] as number); turn++) {
      turns[next++] = turn;
      jobOf[turn] = position;
    }
  }
  if (pacing === "recorded") orderTurns(work, turns);
  const indexOf = new Int32Array(n);
  for (let index = 0; index < n; index++) indexOf[turns[index] as number] = index;
  return { jobs, starts, turns, indexOf, jobOf };
}

/** By round of copies, then by start; jobs without a start keep their place at the end of theirs. */
function orderJobs({ copy }: Workload, starts: Float64Array): Int32Array {
  const order = new Int32Array(copy.length);
  for (let from = 0, to = 0; from < copy.length; from = to) {
    while (to < copy.length && copy[to] === copy[from]) to++;
    const round = orderByTime(starts.subarray(from, to));
    for (let i = 0; i < round.length; i++) order[from + i] = from + (round[i] as number);
  }
  return order;
}

/** Puts the turns in order of time; with `recorded` pacing each has one. */
function orderTurns({ offset_ms }: Workload, turns: Int32Array): void {
  const given = turns.slice();
  const times = new Float64Array(turns.length);
  for (let i = 0; i < times.length; i++) times[i] = offset_ms[given[i] as number] as Ms;
  const order = orderByTime(times);
  for (let i = 0; i < order.length; i++) turns[i] = given[order[i] as number] as number;
}

/** The last time that is known ahead; `null` without one. */
function spanOf({ work, pacing, jobs, starts }: PlanLayout): Ms | null {
  if (pacing === "closed") return null;
  let span: Ms | null = null;
  for (let position = 0; position < jobs.length; position++) {
    const job = jobs[position] as number;
    for (let turn = work.first[job] as number; turn < (work.first[job + 1] as number); turn++) {
      if (pacing === "jobs" && work.parents[turn]?.length !== 0) continue;
      const told = work.offset_ms[turn] as Ms;
      const offset = Number.isNaN(told) ? (starts[position] as Ms) : told;
      if (span === null || offset > span) span = offset;
    }
  }
  return span;
}

/** An endless cache for these jobs (the first of the workload, as they begin); `null` where nothing is known of their prompts. */
function optimalReuse(work: Workload, jobs: Int32Array): PrefixReuse | null {
  const { requests, row, first, input_tokens } = work;
  if (input_tokens !== null) return null;
  for (let turn = 0; turn < (first[jobs.length] as number); turn++) {
    const at = row[turn] as number;
    if (requests.promptKind(at) !== "length" || requests.namesBlocks(at))
      return reuseOfColumns(work, jobs, false);
  }
  return null;
}
