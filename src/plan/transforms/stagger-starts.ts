import type { Rng } from "../../core/random.ts";
import type { Ms } from "../../core/units.ts";
import type { Transformed, Workload } from "../workload.ts";

/**
 * Closed runs: the first `slots` jobs, which would all start at once, start `step` apart plus a uniform draw from
 * [0, jitter). Later jobs start when a slot comes free.
 */
export function staggerStarts(jobs: Workload, slots: number, step: Ms, jitter: Ms, rng: Rng): Transformed {
  if (step === 0 && jitter === 0) return { jobs, notes: [] };
  return {
    jobs: jobs.map((job, j) =>
      j < slots ? { ...job, start_delay_ms: j * step + (jitter > 0 ? rng.uniform() * jitter : 0) } : job,
    ),
    notes: [`first ${Math.min(slots, jobs.length)} jobs start ${step} ms apart, jitter up to ${jitter} ms`],
  };
}
