import type { Rng } from "../../core/random.ts";
import type { Ms, PerSecond } from "../../core/units.ts";
import { spanAtRate } from "../workload.ts";
import { uniformArrivals } from "./uniform.ts";

/**
 * N arrivals, the first at 0, with gaps ~ Gamma(shape = burstiness, scale = 1/(rate·burstiness)): mean 1/rate, CV
 * 1/√burstiness. Normalised, the last leaves at exactly (N−1)/rate (COMPAT B). A burstiness of Infinity is constant.
 */
export function gammaArrivals(
  n: number,
  rate: PerSecond,
  burstiness: number,
  normalize: boolean,
  rng: Rng,
): Float64Array {
  if (burstiness === Infinity) return uniformArrivals(n, spanAtRate(n, rate));
  const offsets = new Float64Array(n);
  for (let i = 1; i < n; i++) offsets[i] = (offsets[i - 1] as number) + gammaGap(rate, burstiness, rng);
  if (!normalize || n < 2) return offsets;
  const span = spanAtRate(n, rate);
  const total = offsets[n - 1] as number;
  // All gaps can underflow to 0 at a tiny burstiness: then everything came at once, and even spacing is all there is.
  if (!(total > 0)) return uniformArrivals(n, span);
  for (let i = 1; i < n; i++) offsets[i] = ((offsets[i] as number) / total) * span;
  offsets[n - 1] = span;
  return offsets;
}

/** One gap, ms. */
export function gammaGap(rate: PerSecond, burstiness: number, rng: Rng): Ms {
  const mean = 1000 / rate;
  if (burstiness === Infinity) return mean;
  return burstiness === 1 ? rng.exponential(1) * mean : rng.gamma(burstiness, mean / burstiness);
}
