/** Exact counts of values between edges: what a chart of a distribution is drawn from. */

/** `counts[i]` values lie in (edges[i], edges[i+1]]; the first bin takes its lower edge too. */
export interface Histogram {
  readonly n: number;
  readonly edges: readonly number[];
  readonly counts: readonly number[];
}

/** Bins of a chart, about. */
export const BINS = 72;

/**
 * Edges from `min` to `max`: equally wide in the logarithm where the values span more than a factor of 20 (values at or below
 * 0 share the first bin), else equally wide.
 */
export function binEdges(min: number, max: number, smallestPositive: number, bins = BINS): number[] {
  if (!(max > min)) return [min, max];
  const low = Math.max(smallestPositive, max / 1e6);
  if (max <= 0 || max / low < 20)
    return Array.from({ length: bins + 1 }, (_, i) => (i === bins ? max : min + ((max - min) * i) / bins));
  const inner = Array.from({ length: bins + 1 }, (_, i) =>
    i === bins ? max : low * (max / low) ** (i / bins),
  );
  return min < low ? [min, ...inner] : inner;
}

/** Position of the bin of a value that lies within the edges. */
export function binOf(edges: readonly number[], value: number): number {
  let low = 0;
  let high = edges.length - 2;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (value <= (edges[middle + 1] as number)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Values pass twice: `each` is called once to find the range and once to count. `null` without values. */
export function histogramOf(each: (visit: (value: number, count: number) => void) => void): Histogram | null {
  let n = 0;
  let min = Infinity;
  let max = -Infinity;
  let positive = Infinity;
  each((value, count) => {
    n += count;
    if (value < min) min = value;
    if (value > max) max = value;
    if (value > 0 && value < positive) positive = value;
  });
  if (n === 0) return null;
  const edges = binEdges(min, max, positive);
  const counts = Array.from({ length: edges.length - 1 }, () => 0);
  each((value, count) => {
    const bin = binOf(edges, value);
    counts[bin] = (counts[bin] as number) + count;
  });
  return { n, edges, counts };
}

/** Of a column, rows that `keep` accepts; NaN is left out. */
export function columnHistogram(column: Float64Array, keep: (row: number) => boolean): Histogram | null {
  return histogramOf((visit) => {
    for (let row = 0; row < column.length; row++) {
      const value = column[row] as number;
      if (!Number.isNaN(value) && keep(row)) visit(value, 1);
    }
  });
}
