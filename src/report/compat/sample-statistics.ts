/** Mean, median, deviation and percentiles as numpy gives them to those tools: no sample is 0, the deviation has ddof 0. */
import { percentile, type SortedSamples } from "../../core/quantile.ts";

export interface SampleStatistics {
  readonly mean: number;
  readonly median: number;
  readonly std: number;
  readonly percentiles: readonly (readonly [p: number, value: number])[];
}

export function sampleStatistics(samples: SortedSamples, percentiles: readonly number[]): SampleStatistics {
  const n = samples.length;
  let sum = 0;
  for (const value of samples) sum += value;
  const mean = n === 0 ? 0 : sum / n;
  let squares = 0;
  for (const value of samples) squares += (value - mean) ** 2;
  return {
    mean,
    median: percentile(samples, 50) ?? 0,
    std: n === 0 ? 0 : Math.sqrt(squares / n),
    percentiles: percentiles.map((p) => [p, percentile(samples, p) ?? 0] as const),
  };
}
