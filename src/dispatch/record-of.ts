/** From what the client observed to the line of the log: times shifted to the run's `t0`, nothing else changed. */
import type { Failure } from "../core/failure.ts";
import type { Ms } from "../core/units.ts";
import type { Plan, PlannedRequest } from "../plan/plan.ts";
import { jobIdAt, requestIdAt } from "../plan/planned-requests.ts";
import type { Observation } from "../record/observation.ts";
import type { RequestRecord, RequestStatus } from "../record/request-record.ts";

/** What the dispatcher knows of a request, apart from its answer. Times from `t0`. */
export interface Dispatched {
  readonly planned: PlannedRequest;
  readonly job_id: string;
  /** Request ids of the parents that released it. */
  readonly after: readonly string[];
  readonly intended_ms: Ms | null;
  readonly slot_ms: Ms | null;
}

export interface RecordOptions {
  /** Keep each chunk's arrival (`--timeline full`). */
  readonly keepChunks: boolean;
  /** Keep the answer's text (`--save-text`). */
  readonly keepText: boolean;
}

/** What is known of request `index` before its answer. `times`: NaN where not known. */
export function dispatchedOf(
  plan: Plan,
  index: number,
  times: { readonly intended: Float64Array; readonly slot: Float64Array },
): Dispatched {
  const planned = plan.requests.at(index) as PlannedRequest;
  const { release } = planned;
  return {
    planned,
    job_id: jobIdAt(plan.jobs, planned.job),
    after:
      release.kind === "after" ? release.parents.map((parent) => requestIdAt(plan.requests, parent)) : [],
    intended_ms: known(times.intended[index]),
    slot_ms: known(times.slot[index]),
  };
}

function known(value: number | undefined): Ms | null {
  return value === undefined || Number.isNaN(value) ? null : value;
}

/** The record of a request that the client took. `status` is decided by who knows whether the run cut it. */
export function recordOf(
  dispatched: Dispatched,
  status: RequestStatus,
  seen: Observation,
  t0: Ms,
  keep: RecordOptions,
): RequestRecord {
  const { planned } = dispatched;
  // One literal, no spreads: this runs once for each request, and spreading costs ten times as much.
  const record: Mutable<RequestRecord> = {
    request_id: planned.request_id,
    job_id: dispatched.job_id,
    turn: planned.turn,
    status,
    failure: seen.failure,
    intended_ms: dispatched.intended_ms,
    slot_ms: dispatched.slot_ms,
    sent_ms: since(seen.sent_ms, t0),
    connect_ms: seen.connect_ms,
    headers_ms: since(seen.headers_ms, t0),
    first_byte_ms: since(seen.first_byte_ms, t0),
    first_token_ms: since(seen.first_token_ms, t0),
    first_output_ms: since(seen.first_output_ms, t0),
    last_token_ms: since(seen.last_token_ms, t0),
    end_ms: seen.end_ms - t0,
    chunk_tokens: seen.chunk_tokens,
    chunks: seen.chunks,
    prompt_tokens: seen.prompt_tokens,
    output_tokens: seen.output_tokens,
    cached_tokens: seen.cached_tokens,
    reasoning_tokens: seen.reasoning_tokens,
    prompt_tokens_source: seen.prompt_tokens_source,
    output_tokens_source: seen.output_tokens_source,
    planned_prompt_tokens: planned.planned_prompt_tokens,
    planned_output_tokens: planned.planned_output_tokens,
    finish_reason: seen.finish_reason,
    tool_calls: seen.tool_calls,
    engine: seen.engine,
    attempts: seen.attempts,
    after: dispatched.after,
    think_ms: thinkOf(planned),
    agent: planned.agent,
  };
  if (keep.keepChunks) record.chunk_ms = seen.chunk_ms.map((at) => at - t0);
  if (keep.keepText && seen.text !== null) record.text = seen.text;
  if (keep.keepText && seen.reasoning !== undefined) record.reasoning = seen.reasoning;
  if (seen.notes.length > 0) record.notes = seen.notes;
  return record;
}

/** The record of a request that never reached the client: skipped, or it could not be prepared. */
export function unsentRecord(
  dispatched: Dispatched,
  status: Extract<RequestStatus, "skipped" | "failed" | "cancelled">,
  failure: Failure | null,
  end_ms: Ms | null,
): RequestRecord {
  const { planned } = dispatched;
  return {
    request_id: planned.request_id,
    job_id: dispatched.job_id,
    turn: planned.turn,
    status,
    failure,
    intended_ms: dispatched.intended_ms,
    slot_ms: dispatched.slot_ms,
    sent_ms: null,
    connect_ms: 0,
    headers_ms: null,
    first_byte_ms: null,
    first_token_ms: null,
    first_output_ms: null,
    last_token_ms: null,
    end_ms,
    chunk_tokens: null,
    chunks: 0,
    prompt_tokens: null,
    output_tokens: null,
    cached_tokens: null,
    reasoning_tokens: null,
    prompt_tokens_source: "none",
    output_tokens_source: "none",
    planned_prompt_tokens: planned.planned_prompt_tokens,
    planned_output_tokens: planned.planned_output_tokens,
    finish_reason: null,
    tool_calls: null,
    engine: null,
    attempts: 0,
    after: dispatched.after,
    think_ms: thinkOf(planned),
    agent: planned.agent,
  };
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

function since(at: Ms | null, t0: Ms): Ms | null {
  return at === null ? null : at - t0;
}

function thinkOf({ release }: PlannedRequest): Ms {
  return release.kind === "after" ? release.think_ms : 0;
}
