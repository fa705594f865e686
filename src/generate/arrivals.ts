/** When jobs start: ms from the trace's beginning, ascending. */
import type { Rng } from "../core/random.ts";
import type { Ms } from "../core/units.ts";
import { parseDistribution, sampleInteger } from "./distribution.ts";
import type { GenerateOptions } from "./generate-options.ts";

/** Mean distance of jobs inside a burst. */
const BURST_JITTER_MS = 50;

export function drawStarts(options: GenerateOptions, rng: Rng): Ms[] {
  const { numJobs: jobs, spanMs: span } = options;
  const starts = ((): Ms[] => {
    switch (options.arrivals) {
      case "uniform":
        return Array.from({ length: jobs }, () => rng.uniform() * span);
      case "poisson":
        return poisson(jobs, span, rng);
      case "bursts":
        return bursts(options, rng);
      case "daily":
        return Array.from({ length: jobs }, () => daily(options, rng));
    }
  })();
  return starts.sort((a, b) => a - b);
}

/** Independent gaps of mean span ÷ jobs; the first job at 0. */
function poisson(jobs: number, span: Ms, rng: Rng): Ms[] {
  let now = 0;
  return Array.from({ length: jobs }, (_, at) => {
    if (at > 0 && span > 0) now += rng.exponential(jobs / span);
    return now;
  });
}

/** Groups anywhere in the span, their jobs a few milliseconds apart. */
function bursts(options: GenerateOptions, rng: Rng): Ms[] {
  const size = parseDistribution(options.burstSize, "--burst-size");
  const starts: Ms[] = [];
  while (starts.length < options.numJobs) {
    let now = rng.uniform() * options.spanMs;
    for (let left = sampleInteger(size, rng, 1); left > 0 && starts.length < options.numJobs; left--) {
      starts.push(now);
      now += rng.exponential(1 / BURST_JITTER_MS);
    }
  }
  return starts;
}

/**
 * Density ∝ 1 + (r − 1)·(1 − cos(2π·t/day))/2: the quietest at 0, r times as busy half a day later. Drawn by rejection.
 */
function daily(options: GenerateOptions, rng: Rng): Ms {
  const ratio = options.peakToTrough;
  for (;;) {
    const t = rng.uniform() * options.spanMs;
    const density = 1 + ((ratio - 1) * (1 - Math.cos((2 * Math.PI * t) / options.dayMs))) / 2;
    if (rng.uniform() * ratio <= density) return t;
  }
}
