/**
 * Distributions as a user writes them: `120`, `uniform(50,500)`, `lognormal(5.2,1.1)`, `pareto(200,1.5)`, or by what is known
 * of them, `p50=14.4k,p90=37.2k` (a lognormal through both). `min=` and `max=` cut any of them.
 */
import { UserError } from "../core/failure.ts";
import type { Rng } from "../core/random.ts";

export interface Distribution {
  /** As it was written. */
  readonly text: string;
  sample(rng: Rng): number;
}

/** The z of a standard normal's 90th percentile. */
const Z90 = 1.2815515655446004;

interface Family {
  readonly args: readonly string[];
  /** Why these arguments are refused, or `null`. */
  refuse(args: readonly number[]): string | null;
  sample(rng: Rng, args: readonly number[]): number;
}

function at(args: readonly number[], index: number): number {
  return args[index] as number;
}

const positive = (args: readonly number[]): string | null =>
  args.every((value) => value > 0) ? null : "its arguments must be above 0";

/** Adding one: a line here, and one in docs/generate.md. */
const FAMILIES: Readonly<Record<string, Family>> = {
  const: { args: ["value"], refuse: () => null, sample: (_, args) => at(args, 0) },
  uniform: {
    args: ["low", "high"],
    refuse: (args) => (at(args, 0) <= at(args, 1) ? null : "low is above high"),
    sample: (rng, args) => at(args, 0) + (at(args, 1) - at(args, 0)) * rng.uniform(),
  },
  normal: {
    args: ["mean", "sigma"],
    refuse: (args) => (at(args, 1) >= 0 ? null : "sigma is below 0"),
    sample: (rng, args) => rng.normal(at(args, 0), at(args, 1)),
  },
  lognormal: {
    args: ["mu", "sigma"],
    refuse: (args) => (at(args, 1) >= 0 ? null : "sigma is below 0"),
    sample: (rng, args) => rng.logNormal(at(args, 0), at(args, 1)),
  },
  exponential: { args: ["mean"], refuse: positive, sample: (rng, args) => rng.exponential(1 / at(args, 0)) },
  gamma: {
    args: ["shape", "scale"],
    refuse: positive,
    sample: (rng, args) => rng.gamma(at(args, 0), at(args, 1)),
  },
  weibull: {
    args: ["shape", "scale"],
    refuse: positive,
    sample: (rng, args) => at(args, 1) * (-Math.log(1 - rng.uniform())) ** (1 / at(args, 0)),
  },
  pareto: {
    args: ["least", "alpha"],
    refuse: positive,
    sample: (rng, args) => at(args, 0) / (1 - rng.uniform()) ** (1 / at(args, 1)),
  },
};

/** Parses a distribution; a {@link UserError} names `flag`. Values below 0 are never drawn: 0 is the least. */
export function parseDistribution(text: string, flag: string): Distribution {
  const fail = (why: string): never => {
    throw new UserError(`${flag}: "${text}" is not a distribution: ${why}`, {
      hint: `write a number, p50=..,p90=.., or one of ${Object.entries(FAMILIES)
        .map(([name, family]) => `${name}(${family.args.join(",")})`)
        .join(" ")}; min= and max= cut it`,
    });
  };
  const call = /^\s*([a-z]+)\s*\(([^()]*)\)\s*$/i.exec(text);
  const parts = (call === null ? text : (call[2] as string)).split(",").map((part) => part.trim());
  const named = new Map<string, number>();
  const args: number[] = [];
  for (const part of parts) {
    const pair = /^([a-z]+\d*)\s*=\s*(.*)$/i.exec(part);
    const value = readNumber(pair === null ? part : (pair[2] as string));
    if (value === null) return fail(`"${part}" is not a number`);
    if (pair === null) args.push(value);
    else named.set((pair[1] as string).toLowerCase(), value);
  }
  const min = Math.max(0, named.get("min") ?? 0);
  const max = named.get("max") ?? Infinity;
  if (min > max) return fail("min is above max");
  const draw = call === null ? readPlain(args, named, fail) : readCall(call[1] as string, args, named, fail);
  return { text, sample: (rng) => Math.min(max, Math.max(min, draw(rng))) };
}

type Draw = (rng: Rng) => number;
type Fail = (why: string) => never;

function readCall(
  name: string,
  args: readonly number[],
  named: ReadonlyMap<string, number>,
  fail: Fail,
): Draw {
  const family = FAMILIES[name.toLowerCase()];
  if (family === undefined) return fail(`there is no "${name}"`);
  for (const key of named.keys())
    if (key !== "min" && key !== "max") return fail(`${name} knows no "${key}="`);
  if (args.length !== family.args.length) return fail(`${name} takes ${family.args.join(", ")}`);
  const why = family.refuse(args);
  if (why !== null) return fail(why);
  return (rng) => family.sample(rng, args);
}

function readPlain(args: readonly number[], named: ReadonlyMap<string, number>, fail: Fail): Draw {
  for (const key of named.keys())
    if (!["min", "max", "p50", "p90"].includes(key)) return fail(`"${key}=" is not known`);
  const [p50, p90] = [named.get("p50"), named.get("p90")];
  if (args.length === 1 && p50 === undefined && p90 === undefined) return () => args[0] as number;
  if (args.length > 0) return fail("one number, or names with values");
  if (p50 === undefined || p90 === undefined) return fail("p50= and p90= go together");
  if (p50 <= 0 || p90 < p50) return fail("0 < p50 ≤ p90 must hold");
  const [mu, sigma] = [Math.log(p50), Math.log(p90 / p50) / Z90];
  return (rng) => rng.logNormal(mu, sigma);
}

/** `1500`, `1.5k`, `2M`. */
function readNumber(text: string): number | null {
  const match = /^(-?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)\s*([kM])?$/.exec(text);
  if (match === null) return null;
  const value = Number(match[1]) * (match[2] === "k" ? 1000 : match[2] === "M" ? 1_000_000 : 1);
  return Number.isFinite(value) ? value : null;
}

/** A whole number drawn from `distribution`, at least `least`. */
export function sampleInteger(distribution: Distribution, rng: Rng, least: number): number {
  return Math.max(least, Math.round(distribution.sample(rng)));
}
