/**
 * Objectives: `p99(ttft) <= 500ms`, `mean(e2e) < 2s`, `budget_miss_rate <= 1%`, `throughput.requests_per_s >= 10`. They
 * decide the exit code. A value that was not measured meets no objective.
 */
import { parseDuration } from "../core/duration.ts";
import { UserError } from "../core/failure.ts";
import { nearestHint } from "../core/nearest.ts";
import { percentileKey } from "../core/quantile.ts";
import { JOB_METRICS, JOB_METRIC_IDS, type JobMetricId } from "./job/index.ts";
import { ROUNDING_MS } from "./job/over_budget.ts";
import {
  ALL_REQUEST_METRIC_IDS,
  POOLED_METRICS,
  type PooledMetricId,
  REQUEST_METRICS,
  type RequestMetricId,
} from "./request/index.ts";
import type { ObjectiveResult, Summary } from "./summary.ts";

export interface Slo {
  /** As written. */
  readonly text: string;
  readonly subject:
    | { readonly kind: "distribution"; readonly metric: DistributionId; readonly statistic: string }
    | { readonly kind: "scalar"; readonly name: string };
  readonly operator: "<=" | "<" | ">=" | ">";
  readonly unit: Unit;
  /** In that unit; a share is 0–1. */
  readonly bound: number;
}

export type DistributionId = RequestMetricId | PooledMetricId | JobMetricId;

type Unit = "ms" | "share" | "number";

/** Numbers of the summary that an objective may name, and their unit. Short names stand beside the full paths. */
const SCALARS: Readonly<Record<string, { unit: Unit; read: (summary: Summary) => number | null }>> = {
  budget_miss_rate: { unit: "share", read: (s) => s.jobs.budget_miss_rate },
  "jobs.budget_miss_rate": { unit: "share", read: (s) => s.jobs.budget_miss_rate },
  failure_rate: { unit: "share", read: (s) => failureRate(s) },
  hit_rate: { unit: "share", read: (s) => s.prefix_cache.hit_rate },
  "prefix_cache.hit_rate": { unit: "share", read: (s) => s.prefix_cache.hit_rate },
  "goodput.share": { unit: "share", read: (s) => s.goodput?.share ?? null },
  "goodput.rate_per_s": { unit: "number", read: (s) => s.goodput?.rate_per_s ?? null },
  "steady_state.jobs_per_hour": { unit: "number", read: (s) => s.steady_state?.jobs_per_hour ?? null },
  ...Object.fromEntries(
    (
      [
        "requests_per_s",
        "input_tokens_per_s",
        "output_tokens_per_s",
        "total_tokens_per_s",
        "jobs_per_hour",
        "jobs_in_budget_per_hour",
        "jobs_per_hour_per_user",
        "jobs_per_hour_per_gpu",
        "peak_output_tokens_per_s",
        "peak_concurrency",
        "mean_concurrency",
      ] as const
    ).flatMap((key) => {
      const scalar = { unit: "number" as const, read: (s: Summary) => s.throughput[key] };
      return [
        [key, scalar],
        [`throughput.${key}`, scalar],
      ];
    }),
  ),
  ...Object.fromEntries(
    (["ok", "failed", "cancelled", "skipped", "sent", "not_sent", "overdue"] as const).map((key) => [
      `counts.${key}`,
      { unit: "number" as const, read: (s: Summary) => s.counts[key] },
    ]),
  ),
};

const DISTRIBUTIONS: readonly DistributionId[] = [...ALL_REQUEST_METRIC_IDS, ...JOB_METRIC_IDS];
const FORM = "write e.g. p99(ttft) <= 500ms, mean(job_e2e) < 30s or budget_miss_rate <= 1%";

/** Parses one objective. {@link UserError} for a name that is not known (with the nearest), a wrong unit or form. */
export function parseSlo(text: string, flag = "--slo"): Slo {
  const match = /^\s*([^<>=]+?)\s*(<=|>=|<|>)\s*([^<>=]+?)\s*$/.exec(text);
  if (match === null) throw new UserError(`${flag}: "${text}" is not an objective`, { hint: FORM });
  const [, left = "", operator = "", right = ""] = match;
  const call = splitSubject(left);
  if (call === null) {
    if (Object.hasOwn(SCALARS, left)) {
      const unit = (SCALARS[left] as { unit: Unit }).unit;
      return {
        text: text.trim(),
        subject: { kind: "scalar", name: left },
        unit,
        operator: operator as Slo["operator"],
        bound: parseBound(right, unit, text, flag),
      };
    }
    if ((DISTRIBUTIONS as readonly string[]).includes(left))
      throw new UserError(`${flag}: "${text}": ${left} is a distribution`, {
        hint: `say which number of it: p99(${left}), mean(${left}), max(${left})`,
      });
    throw unknown(left, [...Object.keys(SCALARS), ...DISTRIBUTIONS.map((id) => `p99(${id})`)], flag);
  }
  const { statistic, name } = call;
  const metric = DISTRIBUTIONS.find((id) => id === name.replace(/^(requests|jobs)\./, ""));
  if (metric === undefined) throw unknown(name, DISTRIBUTIONS, flag);
  const unit = unitOf(metric) === "ms" ? "ms" : "number";
  return {
    text: text.trim(),
    subject: { kind: "distribution", metric, statistic: parseStatistic(statistic, text, flag) },
    unit,
    operator: operator as Slo["operator"],
    bound: parseBound(right, unit, text, flag),
  };
}

/** `p99(ttft)`, or as it stands in the summary: `requests.ttft.p99`. */
function splitSubject(text: string): { statistic: string; name: string } | null {
  const call = /^([a-z]+(?:\d+(?:\.\d+)?)?)\s*\(\s*([\w.]+)\s*\)$/i.exec(text);
  if (call !== null) return { statistic: call[1] as string, name: call[2] as string };
  const path = /^((?:requests\.|jobs\.)?[a-z_0-9]+)\.(p\d+(?:\.\d+)?|mean|min|max|std|median)$/i.exec(text);
  return path === null ? null : { statistic: path[2] as string, name: path[1] as string };
}

function unknown(name: string, known: readonly string[], flag: string): UserError {
  return new UserError(`${flag}: unknown metric "${name}"`, {
    hint: nearestHint(name, known) ?? `known: ${known.join(", ")}`,
  });
}

function unitOf(metric: DistributionId): string {
  return { ...REQUEST_METRICS, ...POOLED_METRICS, ...JOB_METRICS }[metric].unit;
}

const STATISTICS = ["mean", "min", "max", "std", "median"] as const;

/** A key of a distribution. */
function parseStatistic(text: string, slo: string, flag: string): string {
  const name = text.toLowerCase();
  if (name === "median") return "p50";
  if ((STATISTICS as readonly string[]).includes(name)) return name;
  const percentile = /^p(\d+(?:\.\d+)?)$/.exec(name);
  const p = Number(percentile?.[1]);
  if (percentile !== null && p >= 0 && p <= 100) return percentileKey(p);
  throw new UserError(`${flag}: "${slo}": unknown statistic "${text}"`, {
    hint: `known: p0 to p100, ${STATISTICS.join(", ")}`,
  });
}

function parseBound(text: string, unit: Unit, slo: string, flag: string): number {
  const percent = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+))\s*%$/.exec(text);
  if (percent !== null) {
    if (unit === "share") return Number(percent[1]) / 100;
    throw new UserError(`${flag}: "${slo}": a percentage does not fit this metric`, { hint: FORM });
  }
  if (unit === "ms") return parseDuration(text, `${flag} "${slo}"`, "ms");
  const value = Number(text);
  if (text === "" || !Number.isFinite(value))
    throw new UserError(`${flag}: "${slo}": "${text}" is not a number`, { hint: FORM });
  // `budget_miss_rate <= 1` would be met whatever happens: who writes it means 1 %.
  if (unit === "share" && Math.abs(value) >= 1)
    throw new UserError(`${flag}: "${slo}": is ${text} a share or a percentage?`, {
      hint: value === 1 ? "write 1% or 100%" : `write ${text}%`,
    });
  return value;
}

/** The percentile that an objective needs of `metric`, for the summary to compute; `null` if it needs none. */
export function percentileOf(slo: Slo, metric: DistributionId): number | null {
  if (slo.subject.kind !== "distribution" || slo.subject.metric !== metric) return null;
  return slo.subject.statistic.startsWith("p") ? Number(slo.subject.statistic.slice(1)) : null;
}

/** Judges an objective on a summary that holds the percentiles it needs. */
export function judgeSlo(slo: Slo, summary: Omit<Summary, "objectives">): ObjectiveResult {
  const value = valueOf(slo, summary as Summary);
  return { text: slo.text, unit: slo.unit, value, met: value !== null && holds(value, slo) };
}

function valueOf({ subject }: Slo, summary: Summary): number | null {
  if (subject.kind === "scalar") return SCALARS[subject.name]?.read(summary) ?? null;
  const { metric, statistic } = subject;
  const distribution = (JOB_METRIC_IDS as readonly string[]).includes(metric)
    ? summary.jobs[metric as JobMetricId]
    : summary.requests[metric as RequestMetricId];
  const value = (distribution as unknown as Record<string, unknown>)[statistic];
  return typeof value === "number" ? value : null;
}

/** `<=` and `>=` take in the bound itself, whatever the last bit of a difference of times says. */
function holds(value: number, { operator, bound }: Slo): boolean {
  switch (operator) {
    case "<=":
      return value <= bound + ROUNDING_MS * Math.min(1, Math.abs(bound));
    case ">=":
      return value >= bound - ROUNDING_MS * Math.min(1, Math.abs(bound));
    case "<":
      return value < bound;
    case ">":
      return value > bound;
  }
}

/** failed ÷ sent; `null` when nothing was sent. */
export function failureRate({ counts }: Pick<Summary, "counts">): number | null {
  return counts.sent === 0 ? null : counts.failed / counts.sent;
}
