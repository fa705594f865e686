import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { describeSamples } from "../core/quantile.ts";
import { streamed } from "../../test/support/run-samples.ts";
import { GapPool } from "./gap-pool.ts";
import { type ValueBlock, describePool } from "./pool-quantile.ts";

const PERCENTILES = [0, 7, 50, 90, 99, 99.9, 100];

describe("describePool", () => {
  it("gives the numbers of sorting, however narrow or skewed the values", () => {
    const value = fc.oneof(
      fc.constantFrom(0, 1, 20, 20.5),
      fc.double({ min: 0, max: 1e6, noNaN: true }),
      fc.double({ min: 20, max: 20.0001, noNaN: true }),
    );
    fc.assert(
      fc.property(
        fc.array(value, { minLength: 1, maxLength: 300 }),
        fc.integer({ min: 1, max: 40 }),
        (list, sort) => {
          const half = list.length >> 1;
          const blocks: ValueBlock[] = [list.slice(0, half), list.slice(half)].map((part) => ({
            values: Float64Array.from(part),
            n: part.length,
            unit: 1,
            tokens: null,
          }));
          const got = describePool(blocks, PERCENTILES, sort);
          const want = describeSamples(list, PERCENTILES);
          expect(Object.keys(got).sort()).toEqual(Object.keys(want).sort());
          for (const key of ["n", "min", "max", ...PERCENTILES.map((p) => `p${p}`)] as const)
            expect(got[key as "n"]).toBe(want[key as "n"]);
          expect(got.mean).toBeCloseTo(want.mean as number, 6);
          expect(got.std).toBeCloseTo(want.std as number, 4);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("spreads a value over its tokens", () => {
    const block = { values: Int32Array.of(40_000, 9_000), n: 2, unit: 1e-3, tokens: Uint16Array.of(4, 3) };
    for (const sort of [1, 100])
      expect(describePool([block], [50], sort)).toMatchObject({ n: 7, min: 3, max: 10, p50: 10 });
  });

  it("has no numbers without values", () => {
    expect(describePool([], [50])).toEqual({ n: 0, mean: null, std: null, min: null, max: null, p50: null });
  });
});

describe("GapPool", () => {
  it("keeps gaps exact on and off the microsecond grid, beyond 2147 s too", () => {
    const lists = [
      [0, 1.001, 2.5],
      [0, 1 / 3, 1],
      [0, 4_000_000.5],
      [7, 7.25],
    ];
    const pool = new GapPool();
    for (const chunks of lists) pool.add(streamed(0, chunks));
    const gaps = lists.flatMap((chunks) => chunks.slice(1).map((at, i) => at - (chunks[i] as number)));
    const got = pool.chunkGap([50]);
    const want = describeSamples(gaps, [50]);
    expect(got.n).toBe(6);
    expect(got.max).toBe(want.max);
    expect(got.p50).toBeCloseTo(want.p50 as number, 9);
    expect(got.mean).toBeCloseTo(want.mean as number, 6);
    expect(pool.itl([50])).toEqual(got);
    expect(pool.itlBasis).toBe("chunk_gap");
  });

  it("says what its inter-token latency stands on", () => {
    const pool = new GapPool();
    expect(pool.itlBasis).toBeNull();
    pool.add(streamed(0, [1, 2], { chunk_tokens: [1, 1] }));
    expect(pool.itlBasis).toBe("chunk_tokens");
    pool.add(streamed(0, [1, 2]));
    expect(pool.itlBasis).toBe("mixed");
  });
});
