/** The Plan: time lives in data. Every workload compiles to one; one dispatcher executes every plan. */
import type { JsonObject } from "../core/json.ts";
import type { List } from "../core/list.ts";
import type { Ms, Tokens } from "../core/units.ts";
import type { Pacing } from "../record/manifest.ts";
import type { TracePrompt } from "../trace/trace-request.ts";

/**
 * When a request becomes due.
 * - `at`: at t0 + offset, whatever the server does; but a turn whose parent (`needs`) is known to have failed by then is skipped.
 * - `after`: when all parents have ended ok, and `think_ms` has passed since the last one's end.
 * - `slot`: when its slot is free: a job slot for a job's first turn in closed job runs, a request slot otherwise.
 *   `delay_ms` is counted from the slot's instant (staggered starts; a root that begins later than its job).
 */
export type Release =
  | { readonly kind: "at"; readonly offset_ms: Ms; readonly needs?: readonly number[] }
  | { readonly kind: "after"; readonly parents: readonly number[]; readonly think_ms: Ms }
  | { readonly kind: "slot"; readonly delay_ms: Ms };

/** What to ask of the model; turned into bytes by `prompt/` and the client shortly before it is due. */
export interface PlannedTurn {
  readonly prompt: TracePrompt;
  /** Length that is forced (`ignore_eos`, `min_tokens`); `null` = free up to `max_tokens`. */
  readonly forced_output_tokens: Tokens | null;
  readonly max_tokens: Tokens | null;
  readonly temperature: number | null;
  /** Merged into the body. */
  readonly params: JsonObject | null;
  /** Overrides the run's model (LoRA assignment). */
  readonly model: string | null;
  /** Distinguishes copies of one job: made-up text of different copies differs. 0 for the original. */
  readonly copy: number;
  /** So many leading prefix blocks (or messages) are the original's in every copy. Absent = 0. */
  readonly common?: number;
}

export interface PlannedRequest {
  /** Position in {@link Plan.requests}. */
  readonly index: number;
  readonly request_id: string;
  /** Position in {@link Plan.jobs}. */
  readonly job: number;
  readonly turn: number;
  readonly agent: string | null;
  readonly release: Release;
  readonly request: PlannedTurn;
  readonly planned_prompt_tokens: Tokens | null;
  readonly planned_output_tokens: Tokens | null;
}

export interface PlannedJob {
  readonly index: number;
  readonly job_id: string;
  /** Indices of its requests, parents before children. */
  readonly requests: readonly number[];
  readonly budget_ms: Ms | null;
  /** Of which job this is a copy, turn by turn (position in {@link Plan.jobs}). Absent = it is as in the trace. */
  readonly copy_of?: number;
  readonly recorded_ms: Ms | null;
  readonly optimal_hit_rate: number | null;
}

export interface Plan {
  readonly requests: List<PlannedRequest>;
  readonly jobs: List<PlannedJob>;
  readonly pacing: Pacing;
  /** At most this many requests in flight; `null` = no cap. */
  readonly max_concurrency: number | null;
  /** At most this many jobs under way (closed runs); `null` = no cap. */
  readonly max_concurrent_jobs: number | null;
  /**
   * Jobs from this one on are spare copies that keep a closed run going: those that never begin are not counted as
   * planned. Absent = there are none.
   */
  readonly spare_from?: number;
  readonly span_ms: Ms | null;
  readonly optimal_hit_rate: number | null;
  readonly optimal_cached_tokens: Tokens | null;
  /** Choices that were made for the user, one line each; printed before sending. */
  readonly notes: readonly string[];
  readonly gaps_capped: number;
}
