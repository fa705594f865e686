import { mapOffsets, type Transformed, type Workload } from "../workload.ts";

/** `--speed`: arrivals come `speed` times as fast. Think times are left alone (`scaleThink`). No rounding. */
export function scaleArrivals(work: Workload, speed: number): Transformed {
  if (speed === 1) return { jobs: work, notes: [] };
  return {
    jobs: mapOffsets(work, (offset) => offset / speed),
    notes: [`arrivals replayed at ${speed} times the recorded speed`],
  };
}
