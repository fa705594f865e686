import type { Ms } from "../../core/units.ts";

/** N arrivals evenly spaced over [0, span]. */
export function uniformArrivals(n: number, span: Ms): Float64Array {
  const offsets = new Float64Array(n);
  // One multiplication each, so that nothing accumulates and the last is exactly the span.
  for (let i = 1; i < n; i++) offsets[i] = (span * i) / (n - 1);
  return offsets;
}
