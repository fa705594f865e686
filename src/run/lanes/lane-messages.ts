/** What the main thread and a lane tell each other. Records go as lines of the log, ready to be written. */
import type { Ms } from "../../core/units.ts";
import type { DispatchResult, StopRule } from "../../dispatch/dispatch-env.ts";
import type { Plan } from "../../plan/plan.ts";
import type { GeneratorHealth } from "../../record/manifest.ts";
import type { ClientSpec } from "../client-spec.ts";
import type { EndedRequest } from "../ended-request.ts";
import type { PromptToolsSpec } from "../prompt-tools.ts";
import type { RequestFacts } from "../request-maker.ts";

/** Everything a lane needs to make and send requests, the same for all lanes of a run. */
export interface LaneSpec {
  readonly client: ClientSpec;
  readonly tools: PromptToolsSpec | null;
  readonly facts: RequestFacts;
  /** Digests of the warm-up prompts. */
  readonly warmups: readonly string[];
  /** Keep what each request sent for its record. */
  readonly keepInput: boolean;
}

/** The thread's `workerData`. */
export interface LaneStart {
  readonly spec: LaneSpec;
  readonly plan: Plan;
  readonly history: "recorded" | "live";
  readonly keepChunks: boolean;
  readonly saveText: boolean;
  readonly stop: StopRule | null;
  /** Never to be written: replaced in the lines of the log. */
  readonly secrets: readonly string[];
  readonly shared: LaneShared;
}

/** Memory that both threads see, so that what a lane did is known even when it dies. */
export interface LaneShared {
  /** {@link COUNTS} in order. */
  readonly counts: Int32Array;
  /** By request: {@link SENT}, {@link OVER}; 0 = neither. */
  readonly state: Uint8Array;
  /** By request: intended, slot (NaN: no cap) and the instant it was handed to the client, ms from `t0`. */
  readonly times: Float64Array;
  /** Records posted by the lane, records taken by the main thread, and 1 while the lane holds some back. */
  readonly window: Int32Array;
}

export const COUNTS = ["sent", "in_flight", "ok", "failed", "cancelled", "skipped", "jobs_ended"] as const;

/** Handed to the client. */
export const SENT = 1;
/** Its record was posted to the main thread. */
export const OVER = 2;

export const POSTED = 0;
export const TAKEN = 1;
export const HELD_BACK = 2;

export type ToLane =
  /** The run's `t0` on CLOCK_MONOTONIC, ms. */
  | { readonly type: "start"; readonly monotonic_ms: Ms }
  | { readonly type: "drain"; readonly graceMs: Ms | null }
  | { readonly type: "abort" }
  /** The main thread has caught up. */
  | { readonly type: "more" };

export type FromLane =
  /** The first bodies are made. */
  | { readonly type: "ready" }
  | { readonly type: "records"; readonly lines: string; readonly ended: readonly EndedRequest[] }
  | {
      readonly type: "done";
      readonly result: DispatchResult;
      readonly health: GeneratorHealth;
      readonly warmupDuplicates: number | null;
    }
  /** A bug, with its stack. */
  | { readonly type: "bug"; readonly text: string };

export function sharedOf(requests: number): LaneShared {
  return {
    counts: new Int32Array(new SharedArrayBuffer(4 * COUNTS.length)),
    state: new Uint8Array(new SharedArrayBuffer(requests)),
    times: new Float64Array(new SharedArrayBuffer(8 * 3 * requests)),
    window: new Int32Array(new SharedArrayBuffer(4 * 3)),
  };
}
