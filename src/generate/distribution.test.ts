import { describe, expect, it } from "vitest";
import { createRng } from "../core/random.ts";
import { parseDistribution } from "./distribution.ts";

function draw(
  text: string,
  n = 40_000,
): { mean: number; p50: number; p90: number; min: number; max: number } {
  const distribution = parseDistribution(text, "--x");
  const rng = createRng(text);
  const values = Array.from({ length: n }, () => distribution.sample(rng)).sort((a, b) => a - b);
  return {
    mean: values.reduce((sum, value) => sum + value, 0) / n,
    p50: values[n / 2] as number,
    p90: values[(n * 9) / 10] as number,
    min: values[0] as number,
    max: values[n - 1] as number,
  };
}

const near = (value: number, wanted: number, share = 0.04): void => {
  expect(Math.abs(value - wanted)).toBeLessThan(wanted * share);
};

describe("a distribution", () => {
  // Means and quantiles from the textbook formulas.
  it("draws what it says", () => {
    expect(draw("120", 2)).toMatchObject({ min: 120, max: 120 });
    expect(draw("const(1.5k)", 2)).toMatchObject({ min: 1500, max: 1500 });
    near(draw("uniform(100,300)").mean, 200);
    near(draw("lognormal(5,1)").p50, Math.exp(5));
    near(draw("lognormal(5,1)").mean, Math.exp(5.5));
    near(draw("exponential(40)").mean, 40);
    near(draw("gamma(2,30)").mean, 60);
    near(draw("weibull(1,50)").mean, 50);
    near(draw("normal(100,10)").mean, 100);
    const pareto = draw("pareto(200,1.5)");
    expect(pareto.min).toBeGreaterThanOrEqual(200);
    near(pareto.p50, 200 * 2 ** (1 / 1.5));
    near(pareto.p90, 200 * 10 ** (1 / 1.5));
    const known = draw("p50=14.4k, p90=37.2k");
    near(known.p50, 14_400);
    near(known.p90, 37_200);
  });

  it("is cut by min and max, and never falls below 0", () => {
    const cut = draw("pareto(200, 1.1, min=250, max=1k)");
    expect(cut.min).toBe(250);
    expect(cut.max).toBe(1000);
    expect(draw("normal(0,5)").min).toBe(0);
  });

  it.each([
    ["", /not a number/],
    ["many", /"many" is not a number/],
    ["uniform(5)", /takes low, high/],
    ["uniform(9,1)", /low is above high/],
    ["zipf(1,2)", /there is no "zipf"/],
    ["p50=10", /go together/],
    ["p50=10,p90=5", /p50 ≤ p90/],
    ["pareto(0,1)", /above 0/],
    ["lognormal(1,-1)", /below 0/],
    ["5,6", /one number/],
    ["5,min=9,max=1", /min is above max/],
    ["lognormal(1,1,mean=3)", /knows no "mean="/],
    ["1e999", /not a number/],
  ])("%j is refused", (text, message) => {
    expect(() => parseDistribution(text, "--x")).toThrow(message);
  });
});
