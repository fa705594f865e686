import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { binEdges, binOf, columnHistogram, histogramOf } from "./histogram.ts";

describe("histograms", () => {
  it("count every value once, at its edge too", () => {
    const found = columnHistogram(Float64Array.of(0, 1, 2, 3, 4, NaN), () => true);
    expect(found?.n).toBe(5);
    expect(found?.edges[0]).toBe(0);
    expect(found?.edges.at(-1)).toBe(4);
    expect(found?.counts.reduce((a, b) => a + b, 0)).toBe(5);
  });

  it("hold one bin where all values are equal, none without values", () => {
    expect(columnHistogram(Float64Array.of(5, 5, 5), () => true)).toEqual({
      n: 3,
      edges: [5, 5],
      counts: [3],
    });
    expect(columnHistogram(Float64Array.of(NaN), () => true)).toBeNull();
    expect(columnHistogram(Float64Array.of(1, 2), (row) => row === 1)?.n).toBe(1);
  });

  it("are logarithmic over wide ranges, with 0 in the first bin", () => {
    const edges = binEdges(0, 1000, 1, 3);
    expect(edges[0]).toBe(0);
    expect(edges.slice(1).map((edge) => Math.round(edge))).toEqual([1, 10, 100, 1000]);
  });

  it("count as a naive count of (low, high] does, whatever the values", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: -10, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 60 }),
        (values) => {
          const found = histogramOf((visit) => values.forEach((value) => visit(value, 2)));
          if (found === null) throw new Error("values were given");
          const { edges, counts } = found;
          counts.forEach((count, i) => {
            const [low, high] = [edges[i] as number, edges[i + 1] as number];
            const naive = values.filter((v) => v <= high && (v > low || i === 0)).length;
            expect(count).toBe(2 * naive);
          });
          expect(counts.reduce((a, b) => a + b, 0)).toBe(2 * values.length);
        },
      ),
    );
  });

  it("find the bin of an edge in the bin that ends there", () => {
    expect([0, 1, 1.5, 2, 3].map((value) => binOf([0, 1, 2, 3], value))).toEqual([0, 0, 1, 1, 2]);
  });
});
