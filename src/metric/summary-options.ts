/** The options of a summary as people write them, parsed once. */
import { parseDuration } from "../core/duration.ts";
import { UserError } from "../core/failure.ts";
import { parseJobBudget } from "./job/job_budget.ts";
import { parseGoodput } from "./run/goodput.ts";
import { parseSlo } from "./slo.ts";
import type { SummaryOptions } from "./summarize.ts";

/** Values of `--percentiles`, `--goodput`, `--slo`, `--job-budget`, `--max-lateness`, `--gpus`; absent = not given. */
export interface SummaryFlags {
  /** `50,90,99.9`. */
  readonly percentiles?: string | readonly number[] | null | undefined;
  readonly goodput?: string | readonly string[] | null | undefined;
  readonly slo?: string | readonly string[] | null | undefined;
  readonly jobBudget?: string | null | undefined;
  /** A number in ms, or with a unit. */
  readonly maxLateness?: string | number | null | undefined;
  readonly gpus?: number | null | undefined;
}

/** Throws a {@link UserError} for the first flag that is wrong. */
export function parseSummaryOptions(flags: SummaryFlags): SummaryOptions {
  const { percentiles, goodput, slo, jobBudget, maxLateness, gpus } = flags;
  return {
    ...(isGiven(percentiles) ? { percentiles: parsePercentiles(percentiles) } : {}),
    ...(isGiven(goodput) ? { goodput: parseGoodput(listOf(goodput)) } : {}),
    ...(isGiven(slo) ? { slos: listOf(slo).map((text) => parseSlo(text)) } : {}),
    ...(isGiven(jobBudget) ? { jobBudget: parseJobBudget(jobBudget) } : {}),
    ...(isGiven(maxLateness)
      ? { maxLatenessMs: parseDuration(String(maxLateness), "--max-lateness", "ms") }
      : {}),
    ...(isGiven(gpus) ? { gpus } : {}),
  };
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}

function listOf(value: string | readonly string[]): readonly string[] {
  return typeof value === "string" ? [value] : value;
}

/** `50,90,99.9`: numbers from 0 to 100, in the order given, doubles dropped. {@link UserError} for anything else. */
export function parsePercentiles(value: string | readonly number[], flag = "--percentiles"): number[] {
  const parts = typeof value === "string" ? value.split(",").map((part) => part.trim()) : value.map(String);
  const list = parts.map((part) => {
    const p = /^\d*\.?\d+$/.test(part) ? Number(part) : NaN;
    if (!(p >= 0 && p <= 100))
      throw new UserError(`${flag}: "${part}" is not a percentile (0 to 100)`, { hint: "e.g. 50,90,99.9" });
    return p;
  });
  return [...new Set(list)];
}
