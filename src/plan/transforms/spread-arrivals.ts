import { formatDuration } from "../../core/duration.ts";
import type { Ms } from "../../core/units.ts";
import { mapOffsets, type Transformed, type Workload } from "../workload.ts";

/** Quantised = the instants are at least this far apart and hold this many arrivals each on average. */
const COARSE_MS = 1000;
const CROWDED = 2;
/** The hint is taken from the first so many jobs. */
const LOOKED_AT = 10_000;
/** Fewer arrivals than this say nothing. */
const SAMPLE = 20;

/**
 * `--spread`: arrivals that were rounded to a coarse step (the Mooncake conversation trace: 3 s) are spread evenly over
 * their step, in the order of the trace: the k-th of n at t goes to t + step·k/n. The step is the smallest distance
 * between two instants.
 */
export function spreadArrivals(work: Workload): Transformed {
  const grid = findGrid(work, Infinity);
  if (grid === null)
    return { jobs: work, notes: ["--spread: arrivals are not quantised, nothing was spread"] };
  const { step, counts, arrivals } = grid;
  const seen = new Map<Ms, number>();
  const spread = mapOffsets(work, (offset) => {
    const k = seen.get(offset) ?? 0;
    seen.set(offset, k + 1);
    return offset + (step * k) / (counts.get(offset) as number);
  });
  return {
    jobs: spread,
    notes: [
      `arrivals are made up within their step: ${arrivals} at ${counts.size} instants, spread evenly over ${formatDuration(step)} each`,
    ],
  };
}

/** A hint for traces whose arrivals are quantised and are replayed as they are. */
export function quantisationNote(work: Workload): string | null {
  const grid = findGrid(work, LOOKED_AT);
  if (
    grid === null ||
    grid.arrivals < SAMPLE ||
    grid.step < COARSE_MS ||
    grid.arrivals < CROWDED * grid.counts.size
  )
    return null;
  const each = (grid.arrivals / grid.counts.size).toFixed(1);
  return `arrivals are quantised to ${formatDuration(grid.step)} (bursts of ${each} on average); --spread spreads them over the step`;
}

function findGrid(
  { first, offset_ms }: Workload,
  jobs: number,
): { step: Ms; counts: Map<Ms, number>; arrivals: number } | null {
  const counts = new Map<Ms, number>();
  let arrivals = 0;
  for (const offset of offset_ms.subarray(0, first[Math.min(jobs, first.length - 1)])) {
    if (Number.isNaN(offset)) continue;
    arrivals++;
    counts.set(offset, (counts.get(offset) ?? 0) + 1);
  }
  const instants = [...counts.keys()].sort((a, b) => a - b);
  let step = Infinity;
  for (let i = 1; i < instants.length; i++) {
    step = Math.min(step, (instants[i] as number) - (instants[i - 1] as number));
  }
  return step === Infinity || arrivals === counts.size ? null : { step, counts, arrivals };
}
