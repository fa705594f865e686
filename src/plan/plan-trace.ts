/** A trace becomes a plan: the transforms in their order, then one release rule for each request. Pure. */
import { createRng } from "../core/random.ts";
import { buildPlan } from "./build-plan.ts";
import { checkPlanOptions, DEFAULT_PLAN_OPTIONS, type PlanOptions } from "./plan-options.ts";
import { choosePacing } from "./choose-pacing.ts";
import type { Plan } from "./plan.ts";
import type { List } from "../core/list.ts";
import { JobTable, type ResolvedJob } from "../trace/job-table.ts";
import { copyJobs } from "./transforms/copy-jobs.ts";
import { limitJobs, limitRequests } from "./transforms/limit.ts";
import { overrideLengths } from "./transforms/override-lengths.ts";
import { scaleArrivals } from "./transforms/scale-arrivals.ts";
import { capIdleGaps, scaleThink } from "./transforms/scale-think.ts";
import { setArrivals } from "./transforms/set-arrivals.ts";
import { repeatJobs } from "./transforms/repeat-jobs.ts";
import { shiftToZero } from "./transforms/shift-to-zero.ts";
import { quantisationNote, spreadArrivals } from "./transforms/spread-arrivals.ts";
import { staggerStarts } from "./transforms/stagger-starts.ts";
import { countJobs, type Transformed, workloadOf } from "./workload.ts";
import { UserError } from "../core/failure.ts";

/**
 * Order: first arrival to 0, spread, speed, idle gaps, the arrival step, the limits, lengths, copies, think times.
 * Options left out are {@link DEFAULT_PLAN_OPTIONS}; contradictions are `UserError`s.
 */
export function planTrace(jobs: List<ResolvedJob>, given: Partial<PlanOptions> = {}): Plan {
  const options: PlanOptions = { ...DEFAULT_PLAN_OPTIONS, ...given };
  checkPlanOptions(options);
  const table = JobTable.of(jobs);
  if (table.length === 0) throw new UserError("the trace holds no request");
  const notes: string[] = [];
  let work = workloadOf(table);
  const apply = (result: Transformed): void => {
    work = result.jobs;
    notes.push(...result.notes);
  };

  const { pacing, notes: pacingNotes } = choosePacing(work, options);
  notes.push(...pacingNotes);
  const closed = pacing === "closed";
  // Arrivals of a closed run order its jobs, no more; what they look like need not be said.
  if (closed) work = shiftToZero(work).jobs;
  else apply(shiftToZero(work));
  if (!closed) {
    if (options.spread) apply(spreadArrivals(work));
    else notes.push(...[quantisationNote(work)].filter((note) => note !== null));
    apply(scaleArrivals(work, options.speed));
  } else if (options.spread) {
    throw new UserError("--spread needs arrivals by time, which --pacing closed does not use");
  }
  const gaps = capIdleGaps(work, options.max_gap_ms, {
    timed: pacing === "recorded" ? "all" : "roots",
    speed: options.speed,
  });
  apply(gaps);
  let capped = gaps.capped;
  if (!closed) {
    const rng = createRng(options.arrival_seed).fork("arrivals");
    apply(setArrivals(work, pacing === "recorded" ? "entry" : "job", options, rng));
  }
  apply(limitJobs(work, options.max_jobs));
  apply(limitRequests(work, options.max_requests));
  apply(overrideLengths(work, options.input_tokens, options.output_tokens));
  const slots = options.max_concurrency ?? 1;
  if (closed) {
    apply(copyJobs(work, options.copies, options.share_copies));
  }
  if (pacing !== "recorded") {
    const think = scaleThink(work, options.think_scale, options.max_gap_ms);
    apply(think);
    capped += think.capped;
  }
  const asked = countJobs(work);
  if (closed) {
    if (options.repeat_for_ms !== null)
      apply(repeatJobs(work, slots, options.repeat_for_ms, options.share_copies));
    const rng = createRng(options.seed).fork("stagger");
    apply(staggerStarts(work, slots, options.stagger_ms, options.stagger_jitter_ms, rng));
    notes.push(`${slots} ${slots === 1 ? "job" : "jobs"} at a time`);
  }
  const plan = buildPlan(work, pacing, options, { notes, gaps_capped: capped });
  return countJobs(work) > asked ? { ...plan, spare_from: asked } : plan;
}
