import type { Rng } from "../../core/random.ts";
import type { Ms } from "../../core/units.ts";
import { countJobs, type Transformed, type Workload } from "../workload.ts";

/**
 * Closed runs: the first `slots` jobs, which would all start at once, start `step` apart plus a uniform draw from
 * [0, jitter). Later jobs start when a slot comes free.
 */
export function staggerStarts(work: Workload, slots: number, step: Ms, jitter: Ms, rng: Rng): Transformed {
  if (step === 0 && jitter === 0) return { jobs: work, notes: [] };
  const started = Math.min(slots, countJobs(work));
  const start_delay_ms = work.start_delay_ms.slice();
  for (let job = 0; job < started; job++)
    start_delay_ms[job] = job * step + (jitter > 0 ? rng.uniform() * jitter : 0);
  return {
    jobs: { ...work, start_delay_ms },
    notes: [`first ${started} jobs start ${step} ms apart, jitter up to ${jitter} ms`],
  };
}
