/**
 * Gates: `p99(job_e2e) <= +5%`, `mean(ttft) <= +20ms`, `output_tps >= -5%`, `budget_miss_rate <= +1%`. A gate fails only
 * when the interval excludes "no worse than the tolerance". More failed or late jobs than before fail every gate by
 * themselves: speed bought with failures is none.
 */
import { UserError } from "../core/failure.ts";
import { nearestHint } from "../core/nearest.ts";
import { estimateDifference, estimateShareDifference, type Interval } from "./bootstrap.ts";
import type { Comparison } from "./compare-runs.ts";
import type { RunSamples } from "./run-samples.ts";
import { parseStatistic, type Statistic } from "./statistic.ts";

const SHARES = ["budget_miss_rate", "failure_rate"] as const;
type Share = (typeof SHARES)[number];

export interface Gate {
  readonly text: string;
  readonly subject: Statistic | Share;
  readonly direction: "<=" | ">=";
  /** `ratio`: of the statistic, 0.05 = 5 %. `ms`: milliseconds. `points`: of a share, 0.01 = 1 percentage point. */
  readonly unit: "ratio" | "ms" | "points";
  readonly tolerance: number;
}

export interface GateResult {
  readonly text: string;
  readonly outcome: "passed" | "failed";
  /** One line, numbers included. */
  readonly reason: string;
  /** The change in the gate's unit; `null` if not measured. */
  readonly change: number | null;
  readonly interval: Interval | null;
}

export interface GateVerdict {
  readonly passed: boolean;
  readonly results: readonly GateResult[];
  /** More failures or misses than before. */
  readonly regressions: readonly string[];
}

export function parseGate(text: string, metrics: readonly string[]): Gate {
  const match = /^(.*?)(<=|>=|≤|≥|<|>|=)\s*([+-]?)\s*(\d+(?:\.\d+)?)\s*(%|ms|s|pp)?\s*$/.exec(text.trim());
  if (match === null) throw malformed(text);
  const [, left = "", sign = "", plus = "", digits = "", unit = ""] = match;
  const direction = sign === "≤" || sign === "<=" ? "<=" : sign === "≥" || sign === ">=" ? ">=" : null;
  if (direction === null) throw malformed(text);
  const size = Number(digits) * (plus === "-" ? -1 : 1);
  const name = left.trim();
  if ((SHARES as readonly string[]).includes(name)) {
    if (unit !== "%" && unit !== "pp" && size !== 0)
      throw new UserError(`--gate "${text}": a rate changes by percentage points`, {
        hint: `write ${name} <= +1%`,
      });
    if (direction === ">=")
      throw new UserError(`--gate "${text}": a rate is better when it is lower; use <=`);
    return { text, subject: name as Share, direction, unit: "points", tolerance: size / 100 };
  }
  if (!name.includes("(")) {
    throw new UserError(`--gate "${text}": "${name}" is not a statistic`, {
      hint:
        nearestHint(name, [...metrics, ...SHARES]) ?? "write p99(job_e2e) <= +5%, or budget_miss_rate <= +1%",
    });
  }
  const subject = parseStatistic(name, metrics, `--gate "${text}"`);
  if (unit === "" && size !== 0)
    throw new UserError(`--gate "${text}": the tolerance needs a unit`, { hint: "write +5% or +20ms" });
  if (unit === "pp") throw new UserError(`--gate "${text}": percentage points are for rates`);
  if ((subject.better === "lower") !== (direction === "<="))
    throw new UserError(`--gate "${text}": ${subject.metric} is better when it is ${subject.better}`, {
      hint: subject.better === "lower" ? `write ${name} <= +5%` : `write ${name} >= -5%`,
    });
  const absolute = unit === "ms" || unit === "s";
  if (!absolute && size / 100 <= -1) throw new UserError(`--gate "${text}": no value falls by 100 % or more`);
  return {
    text,
    subject,
    direction,
    unit: absolute ? "ms" : "ratio",
    tolerance: absolute ? size * (unit === "s" ? 1000 : 1) : size / 100,
  };
}

/** Throws a `UserError` (exit 2) when the runs are too doubtful to decide anything. */
export function judgeGates(comparison: Comparison, gates: readonly Gate[]): GateVerdict {
  const doubts = comparison.concerns.filter(({ severity }) => severity !== "note");
  if (doubts.length > 0) {
    throw new UserError(`no gate can be decided: ${doubts.map(({ text }) => text).join("; ")}`, {
      hint: "repeat the run; `compare` without --gate still shows the numbers",
    });
  }
  const regressions: string[] = [];
  const { a, b } = comparison.jobs;
  const { runs } = comparison;
  const inRuns = (count: number, of: number): string =>
    runs.a + runs.b === 2 ? `${count}` : `${count} in ${of} runs`;
  // By run, where the sides have other numbers of them.
  const more = (what: string, before: number | null, after: number | null): void => {
    if (before !== null && after !== null && after * runs.a > before * runs.b)
      regressions.push(`${what}: ${inRuns(before, runs.a)} before, ${inRuns(after, runs.b)} now`);
  };
  more("failed jobs", a.failed, b.failed);
  more("unfinished jobs", a.unfinished, b.unfinished);
  more("failed requests", comparison.failed_requests.a, comparison.failed_requests.b);
  more("jobs over budget", a.over_budget, b.over_budget);
  const results = gates.map((gate) => judge(comparison, gate));
  return {
    passed: regressions.length === 0 && results.every(({ outcome }) => outcome === "passed"),
    results,
    regressions,
  };
}

function judge(comparison: Comparison, gate: Gate): GateResult {
  const { change, interval } = measure(comparison, gate);
  const show = (value: number): string =>
    gate.unit === "ms"
      ? `${value >= 0 ? "+" : ""}${value.toFixed(1)} ms`
      : `${value >= 0 ? "+" : ""}${(value * 100).toFixed(2)} ${gate.unit === "points" ? "points" : "%"}`;
  if (change === null) {
    // A job-level number that vanished (nothing ok in common) is never a pass.
    return { text: gate.text, outcome: "failed", reason: "not measured in both runs", change, interval };
  }
  if (interval === null) {
    return {
      text: gate.text,
      outcome: "passed",
      reason: `${show(change)}; ${comparison.paired_jobs} paired jobs are too few for an interval, so nothing is shown to be worse`,
      change,
      interval,
    };
  }
  const worse = gate.direction === "<=" ? interval.low > gate.tolerance : interval.high < gate.tolerance;
  return {
    text: gate.text,
    outcome: worse ? "failed" : "passed",
    reason: `${show(change)}, 95 % interval ${show(interval.low)} to ${show(interval.high)}`,
    change,
    interval,
  };
}

function measure(comparison: Comparison, gate: Gate): { change: number | null; interval: Interval | null } {
  const { pairing } = comparison;
  if (typeof gate.subject === "string") {
    const { subject } = gate;
    const a = pairing.a.map((run) => flags(run, subject));
    const b = pairing.b.map((run) => flags(run, subject));
    const all = [...a, ...b];
    const jobs = [...(all[0]?.keys() ?? [])].filter((id) => all.every((run) => run.has(id))).sort();
    if (jobs.length === 0) return { change: null, interval: null };
    const inOrder = (run: Map<string, number>): Int32Array =>
      Int32Array.from(jobs, (id) => run.get(id) as number);
    return estimateShareDifference(a.map(inOrder), b.map(inOrder), pairing.resamplesOf(jobs.length));
  }
  if (gate.unit === "ms") {
    const { metric } = gate.subject;
    return estimateDifference(
      gate.subject,
      pairing.values("a", metric),
      pairing.values("b", metric),
      pairing.resamples,
    );
  }
  const { ratio, interval } = pairing.ratio(gate.subject);
  return {
    change: ratio === null ? null : ratio - 1,
    interval: interval === null ? null : { low: interval.low - 1, high: interval.high - 1 },
  };
}

/** 1 for a job that failed (or missed its budget), by job; jobs that are in no share are left out. */
function flags(run: RunSamples, share: Share): Map<string, number> {
  const out = new Map<string, number>();
  for (const [index, id] of run.job_ids.entries()) {
    const job = run.jobs[index];
    if (job === undefined) continue;
    if (share === "failure_rate" && job.status !== "unfinished") out.set(id, job.status === "failed" ? 1 : 0);
    if (share === "budget_miss_rate" && job.over_budget !== null) out.set(id, job.over_budget ? 1 : 0);
  }
  return out;
}

function malformed(text: string): UserError {
  return new UserError(`--gate "${text}" is not a gate`, {
    hint: 'write "p99(job_e2e) <= +5%", "mean(ttft) <= +20ms", or "budget_miss_rate <= +1%"',
  });
}
