/** What a comparison needs of one run: who it was, and its samples by job. Made from a run folder by load-run.ts. */
import type { JsonObject, JsonValue } from "../core/json.ts";

export interface RunIdentity {
  readonly label: string;
  /** The run's own, drawn at random. */
  readonly id?: string;
  readonly folder: string | null;
  readonly trace: string | null;
  readonly trace_sha256: string | null;
  readonly pacing: string;
  readonly speed: number;
  readonly seeds: Readonly<Record<string, number>>;
  /** What was to be done: equal numbers for equal work. */
  readonly planned: {
    readonly requests: number;
    readonly jobs: number;
    readonly prompt_tokens: number | null;
    readonly span_ms: number | null;
  };
  /** Its jobs were repeated until the duration was over: it has as many as the server managed. */
  readonly repeated?: boolean;
  readonly model: string;
  readonly backend: string;
  readonly simulated: boolean;
  readonly verdict: "valid" | "client-limited" | "degraded";
  readonly verdict_reasons: readonly string[];
  /** The run has no end: it was killed. */
  readonly partial: boolean;
  /** Reprise's own version. */
  readonly version: string;
  readonly options: JsonObject;
  /** What the server said of itself (version and the like). */
  readonly server: JsonValue;
}

export type JobStatus = "ok" | "failed" | "unfinished";

export interface JobSample {
  readonly status: JobStatus;
  /** `null` without a budget, and for a job that is in no share (censored). */
  readonly over_budget: boolean | null;
  /** A repetition that the run's end has cut: how far it got says nothing of the server. */
  readonly cut?: true;
}

/** Values of one metric; `job[i]` is the position (in {@link RunSamples.job_ids}) of the job that value i belongs to. */
export interface MetricColumn {
  readonly job: Int32Array;
  readonly value: Float64Array;
}

export interface RunSamples {
  readonly identity: RunIdentity;
  readonly job_ids: readonly string[];
  /** By position in job_ids. */
  readonly jobs: readonly JobSample[];
  /** Job and request metrics by id, ok ones only, unmeasured ones left out. */
  readonly metrics: Readonly<Record<string, MetricColumn>>;
  readonly failed_requests: number;
  readonly sent_requests: number;
}
