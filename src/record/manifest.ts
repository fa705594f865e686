/**
 * `manifest.json`: everything needed to repeat a run and to read its log, secrets excepted. Written when the run starts,
 * and once more, with `end`, when it is over; a folder whose manifest has no `end` belongs to a run that was killed.
 */
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { Ms, Tokens } from "../core/units.ts";

/** Version of the run folder's layout. A reader refuses a higher one. */
export const RUN_FORMAT = 1;

export type Pacing = "recorded" | "jobs" | "closed" | "load";

export interface Manifest {
  readonly reprise_run: typeof RUN_FORMAT;
  readonly id: string;
  /** ISO 8601, UTC. */
  readonly started_at: string;
  /** The wall clock at `t0`, Unix ms. The one anchor to the calendar. */
  readonly t0_wall_ms: Ms;
  readonly command: "replay" | "bench" | "demo" | "sweep" | "search";
  readonly label: string | null;
  readonly version: string;
  readonly host: {
    readonly platform: string;
    readonly node: string;
    readonly cpus: number;
    readonly name: string;
  };
  /** The resolved options: a run can be repeated from these alone. */
  readonly options: JsonObject;
  readonly seeds: Readonly<Record<string, number>>;
  readonly target: {
    /** Base URL without credentials, or `in-process`. */
    readonly url: string;
    readonly model: string;
    /** The protocol, by the word users know (`openai`, `openai-chat`, ...). */
    readonly backend: string;
    readonly simulated: boolean;
    /** What the server said of itself (version, model list entry), where it did. */
    readonly server: JsonObject | null;
  };
  readonly plan: PlanFacts;
  readonly tokenizer: {
    readonly source: string;
    readonly name: string;
    readonly warning: string | null;
  } | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** Written when the run is over. */
  readonly end: RunEnd | null;
}

/** What the plan promised: the denominators that the records alone cannot tell. */
export interface PlanFacts {
  readonly trace: string | null;
  /** SHA-256 of the trace's content; tells `compare` that two runs replayed the same. */
  readonly trace_sha256: string | null;
  readonly format: string | null;
  readonly pacing: Pacing;
  readonly requests: number;
  readonly jobs: number;
  /** Last planned offset of `at` releases; `null` where there is none. */
  readonly span_ms: Ms | null;
  readonly max_concurrency: number | null;
  readonly max_concurrent_jobs: number | null;
  /** What was repeated until the duration was over; `requests` and `jobs` then count what was begun. Absent = nothing was. */
  readonly repeated?: { readonly jobs: number; readonly requests: number };
  readonly speed: number;
  readonly think_scale: number;
  readonly gaps_capped: number;
  readonly duration_ms: Ms | null;
  readonly warmup_ms: Ms;
  readonly optimal_hit_rate: number | null;
  readonly optimal_cached_tokens: Tokens | null;
  readonly prompt_tokens: Tokens | null;
  readonly provenance: Readonly<Record<string, string>>;
  readonly notes: readonly string[];
  readonly gpus: number | null;
  /** Warm-up prompts that are also in the measured set; must be 0. `null` or absent: not counted. */
  readonly warmup_duplicates?: number | null;
}

export interface RunEnd {
  readonly ended_ms: Ms;
  /** From when on nothing more was sent; what was in flight ended by `ended_ms`. `null` or absent: the plan was done. */
  readonly stopped_ms?: Ms | null;
  readonly interrupted: boolean;
  readonly not_sent: number;
  readonly overdue: number;
  /** What the generator measured of itself. */
  readonly generator: GeneratorHealth;
  readonly engine: JsonValue;
  /** Why the run is degraded beyond an interruption: a lost worker, records that could not be written. */
  readonly degraded?: readonly string[];
  /** Each lane of load, where there were several; `generator` then holds the worst of them. */
  readonly lanes?: readonly LaneHealth[];
}

/** How one lane (worker thread) fared. */
export interface LaneHealth extends GeneratorHealth {
  readonly requests: number;
  readonly jobs: number;
  /** Why it ended early; `null` = it did not. */
  readonly lost: string | null;
}

export interface GeneratorHealth {
  readonly loop_stall_p99_ms: Ms | null;
  readonly loop_stall_max_ms: Ms | null;
  /** Longest stall while at least one stream was open. */
  readonly loop_stall_streaming_max_ms: Ms | null;
  /** CPU of the busiest lane, share of one core. */
  readonly cpu_share: number | null;
  readonly loop_utilisation: number | null;
  /** Share of time in which the sending thread was ready and other processes had the core. */
  readonly core_wait_share?: number | null;
  readonly gc_max_ms?: Ms | null;
}

/** One line of `jobs.jsonl`, written before anything is sent: what each job was to be. */
export interface PlannedJobRecord {
  readonly job_id: string;
  /** Turns planned. */
  readonly turns: number;
  readonly budget_ms: Ms | null;
  /** Offset of the first turn where it is released by time; else `null`. */
  readonly start_ms: Ms | null;
  /** Critical path of the recorded times, where the trace tells; for relative budgets. */
  readonly recorded_ms: Ms | null;
  /** Critical path with the planned think times and the service times of the calibration pass; `null` or absent without one. */
  readonly unloaded_ms?: Ms | null;
  readonly optimal_hit_rate: number | null;
}
