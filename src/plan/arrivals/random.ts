import type { Rng } from "../../core/random.ts";
import type { Ms } from "../../core/units.ts";

/** Sorted uniform samples, stretched so that the first is 0 and the last the span. */
export function randomArrivals(n: number, span: Ms, rng: Rng): Float64Array {
  const samples = new Float64Array(n);
  for (let i = 0; i < n; i++) samples[i] = rng.uniform();
  samples.sort();
  const first = samples[0] ?? 0;
  const width = (samples[n - 1] ?? 0) - first;
  for (let i = 0; i < n; i++) {
    samples[i] = width > 0 ? (((samples[i] as number) - first) / width) * span : 0;
  }
  if (n > 1) samples[n - 1] = span;
  return samples;
}
