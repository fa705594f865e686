import { describe, expect, it } from "vitest";
import { quantileBand } from "./quantile-band.ts";

const each = (value: readonly number[], job = value.map((_v, i) => i)) => ({
  value: Float64Array.from(value),
  job: Int32Array.from(job),
});

describe("quantile bands", () => {
  it("hold the percentiles of all values, and lie around them", () => {
    const band = quantileBand(each(Array.from({ length: 101 }, (_, i) => 100 - i)), [5, 50, 95]);
    expect(band?.value).toEqual([5, 50, 95]);
    band?.value.forEach((value, i) => {
      expect(band.low[i]).toBeLessThanOrEqual(value);
      expect(band.high[i]).toBeGreaterThanOrEqual(value);
    });
    // The median of 101 evenly spread jobs: binomial ranks 40.6 to 60.4 of 101.
    expect(Math.abs((band?.low[1] as number) - 40)).toBeLessThanOrEqual(3);
    expect(Math.abs((band?.high[1] as number) - 60)).toBeLessThanOrEqual(3);
  });

  it("resample whole jobs: turns that are alike within a job make the band no narrower", () => {
    const jobs = Array.from({ length: 30 }, (_, i) => i * 10);
    const single = quantileBand(each(jobs), [50]);
    const many = quantileBand(
      each(
        jobs.flatMap((value) => Array.from({ length: 50 }, () => value)),
        jobs.flatMap((_value, i) => Array.from({ length: 50 }, () => i)),
      ),
      [50],
    );
    const width = (band: typeof single): number => (band?.high[0] as number) - (band?.low[0] as number);
    expect(width(many)).toBeGreaterThan(0.8 * width(single));
  });

  it("agree with a plain recount of drawn values", () => {
    // Two jobs drawn with weights are never fewer than five: too few tell nothing.
    expect(quantileBand(each([1, 2, 3, 4]), [50])).toBeNull();
    expect(quantileBand(each([1, 2, 3, 4, 5, 6], [0, 0, 0, 1, 1, 1]), [50])).toBeNull();
    const same = quantileBand(each([7, 7, 7, 7, 7]), [1, 50, 99]);
    expect([same?.low, same?.high]).toEqual([
      [7, 7, 7],
      [7, 7, 7],
    ]);
  });
});
