/** `summary.json`: every number of a run. Values in ms unless the key ends in another unit; `null` = not measured. */
import type { Distribution } from "../core/quantile.ts";
import type { JsonValue } from "../core/json.ts";
import type { Ms, Tokens } from "../core/units.ts";
import type { Pacing } from "../record/manifest.ts";
import type { Cause } from "./job/causes.ts";
import type { JobMetricId } from "./job/index.ts";
import type { PooledMetricId, RequestMetricId } from "./request/index.ts";

export interface Summary {
  readonly reprise_summary: 1;
  readonly run: RunFacts;
  readonly counts: Counts;
  /** Failed requests by code. */
  readonly failures: Readonly<Record<string, number>>;
  readonly window_ms: Ms | null;
  /** Where the window lies, ms from t0. */
  readonly window: { readonly start_ms: Ms; readonly end_ms: Ms } | null;
  readonly throughput: Throughput;
  readonly requests: Readonly<Record<RequestMetricId | PooledMetricId, RequestDistribution>>;
  readonly failed_requests: { readonly e2e: Distribution };
  readonly jobs: JobsSummary;
  readonly steady_state: SteadyState | null;
  readonly prefix_cache: PrefixCache;
  readonly goodput: Goodput | null;
  readonly objectives: readonly ObjectiveResult[];
  readonly fidelity: Fidelity;
  readonly engine: JsonValue;
  readonly validity: Validity;
}

export interface RunFacts {
  readonly id: string;
  readonly started_at: string;
  readonly label: string | null;
  readonly target: string;
  readonly model: string;
  readonly backend: string;
  readonly pacing: Pacing;
  readonly simulated: boolean;
  readonly interrupted: boolean;
  /** The run has no end: it was killed, or is under way. */
  readonly partial: boolean;
  readonly trace: string | null;
  readonly version: string;
}

/** `planned = sent + skipped + not_sent`, `sent = ok + failed + cancelled`. */
export interface Counts {
  readonly planned: number;
  readonly sent: number;
  readonly ok: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly skipped: number;
  readonly not_sent: number;
  /** Of `not_sent`, those already due when the run ended; `null` where the run has no end. */
  readonly overdue: number | null;
}

export interface Throughput {
  readonly requests_per_s: number | null;
  readonly input_tokens_per_s: number | null;
  readonly output_tokens_per_s: number | null;
  readonly total_tokens_per_s: number | null;
  readonly jobs_per_hour: number | null;
  /** `null` without a budget. */
  readonly jobs_in_budget_per_hour: number | null;
  readonly jobs_per_hour_per_user: number | null;
  /** `null` unless the number of GPUs is known. */
  readonly jobs_per_hour_per_gpu: number | null;
  readonly peak_output_tokens_per_s: number | null;
  readonly peak_concurrency: number | null;
  readonly mean_concurrency: number | null;
}

export interface RequestDistribution extends Distribution {
  /** On `response`: requests that were due but never sent; the distribution is too good by them. */
  readonly censored?: number;
  /** On `itl`: what it stands on. `chunk_gap` = the stream does not tell tokens a chunk. */
  readonly basis?: "chunk_tokens" | "chunk_gap" | "mixed";
}

export type JobsSummary = {
  readonly counts: {
    readonly total: number;
    readonly ok: number;
    readonly failed: number;
    /** The run ended first. */
    readonly unfinished: number;
    /** Of `unfinished`: begun, and not known to miss their budget. In no share. */
    readonly censored: number;
    /** Of `unfinished`: due only after the run's end. In no share. */
    readonly not_started: number;
    /** `null` without a budget. */
    readonly over_budget: number | null;
  };
  readonly budget_miss_rate: number | null;
  readonly budget: BudgetFacts;
  /** Mean over ok jobs; the causes add up to the mean `job_e2e`. */
  readonly breakdown_ms: Readonly<Record<Cause, Ms | null>>;
  readonly dominated_by: Readonly<Partial<Record<Cause, number>>>;
  readonly engine_split: EngineSplitFacts;
} & Readonly<Record<JobMetricId, Distribution>>;

export interface BudgetFacts {
  /** Jobs with a budget. */
  readonly jobs: number;
  /** `--job-budget` as given, or `null`. */
  readonly text: string | null;
  /** Where the budgets come from, jobs by source. `recorded`: relative to the recorded time, for want of a calibration. */
  readonly sources: Readonly<Partial<Record<"trace" | "flag" | "calibration" | "recorded", number>>>;
}

export interface EngineSplitFacts {
  /** Who tells `engine_queue` from `prefill`. `estimate` = nobody; see `estimated_from`. */
  readonly basis: "server" | "estimate" | "mixed" | null;
  /** Turns of ok jobs on critical paths. */
  readonly server: number;
  readonly estimated: number;
  readonly sources: readonly string[];
  readonly estimated_from: "calibration" | "engine_counters" | "envelope" | null;
}

export interface SteadyState {
  readonly start_ms: Ms;
  readonly end_ms: Ms;
  readonly jobs: number;
  readonly jobs_per_hour: number | null;
}

export interface PrefixCache {
  readonly optimal_hit_rate: number | null;
  readonly hit_rate: number | null;
  readonly source: "requests" | "engine_counters" | null;
  /** `optimal_hit_rate − hit_rate`: the eviction cliff. */
  readonly shortfall: number | null;
  /** Requests that told their cached tokens. */
  readonly n: number;
}

export interface Goodput {
  readonly objectives: Readonly<Record<string, number>>;
  readonly good: number;
  readonly rate_per_s: number | null;
  readonly share: number | null;
}

export interface ObjectiveResult {
  readonly text: string;
  /** In this unit; `share` is 0–1. */
  readonly unit: "ms" | "share" | "number";
  readonly value: number | null;
  readonly met: boolean;
}

export interface LengthFidelity {
  readonly n: number;
  readonly planned_mean: Tokens | null;
  readonly achieved_mean: Tokens | null;
  /** Mean of achieved − planned. */
  readonly bias_tokens: Tokens | null;
  /** Σ achieved ÷ Σ planned − 1. */
  readonly bias_share: number | null;
  /** 95th percentile of |achieved − planned|. */
  readonly p95_difference_tokens: Tokens | null;
}

export interface Fidelity {
  readonly prompt_tokens: LengthFidelity;
  readonly output_tokens: LengthFidelity;
  readonly hit_share: { readonly planned: number | null; readonly reported: number | null };
  /** Each property: `recorded`, `inferred`, `made up`, ... */
  readonly provenance: Readonly<Record<string, string>>;
  readonly pacing: Pacing;
  readonly speed: number;
  readonly think_scale: number;
  readonly gaps_capped: number;
  /** Warm-up prompts among the measured ones: must be 0; `null` = not counted. */
  readonly warmup_duplicates: number | null;
  readonly tokenizer_warning: string | null;
  readonly notes: readonly string[];
}

export interface Validity {
  readonly verdict: "valid" | "client-limited" | "degraded";
  readonly reasons: readonly string[];
  /** Also told beside `degraded`. */
  readonly client_limited: boolean;
  readonly max_lateness_ms: Ms;
  /** Over all requests that were sent. */
  readonly lateness: Distribution & { readonly share_late: number | null };
  readonly loop_stall: {
    readonly p99: Ms | null;
    readonly max: Ms | null;
    readonly streaming_max: Ms | null;
  };
  readonly cpu_share: number | null;
  readonly loop_utilisation: number | null;
}
