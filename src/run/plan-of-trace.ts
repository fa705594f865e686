/** From the options of `replay` to a plan. */
import { UserError } from "../core/failure.ts";
import type { List } from "../core/list.ts";
import type { Plan } from "../plan/plan.ts";
import { DEFAULT_PLAN_OPTIONS, type PlanOptions } from "../plan/plan-options.ts";
import { planTrace } from "../plan/plan-trace.ts";
import type { ResolvedJob } from "../trace/job-table.ts";
import type { ReplayGiven } from "./options/replay-options.ts";

/** COMPAT A: arrivals that are made up have seed 42 unless one was given. */
const ARRIVAL_SEED = 42;

/** Compiles the jobs. `seed` is the run's own. Contradictions are `UserError`s. */
export function planOfTrace(jobs: List<ResolvedJob>, given: ReplayGiven, seed: number): Plan {
  const defaults = DEFAULT_PLAN_OPTIONS;
  if (given.max_requests === 0)
    throw new UserError("--max-requests 0 leaves nothing to send", { hint: "-1 means all" });
  const maxRequests = given.max_requests ?? -1;
  const options: PlanOptions = {
    pacing: given.pacing ?? defaults.pacing,
    arrival_type: given.arrival_type ?? defaults.arrival_type,
    arrival_rate: given.arrival_rate ?? null,
    arrival_seed: given.arrival_seed ?? given.seed ?? ARRIVAL_SEED,
    burstiness: given.burstiness ?? defaults.burstiness,
    normalize: given.normalize ?? true,
    speed: given.speed ?? 1,
    think_scale: given.think_scale ?? 1,
    max_gap_ms: given.max_gap ?? null,
    spread: given.spread ?? false,
    max_requests: maxRequests < 0 ? null : maxRequests,
    max_jobs: given.max_jobs ?? null,
    input_tokens: given.input_length ?? null,
    output_tokens: given.output_length ?? null,
    output: given.output ?? "exact",
    max_concurrency: given.max_concurrency ?? null,
    copies: given.copies ?? 1,
    // Who says how much work there is wants that much; else N jobs at a time last as long as asked.
    repeat_for_ms:
      given.copies === undefined && given.max_jobs === undefined && maxRequests < 0
        ? (given.duration ?? null)
        : null,
    share_copies: given.share_copies ?? false,
    // What is preloaded is in the cache for every round of copies.
    keep_common: given.preload ?? false,
    stagger_ms: given.stagger ?? 0,
    stagger_jitter_ms: given.stagger_jitter ?? 0,
    seed,
    optimal: true,
  };
  return planTrace(jobs, options);
}
