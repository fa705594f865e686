/** Hand-made runs for tests of metrics and reports: only what a test is about is written down. */
import type { FailureCode } from "../../src/core/failure.ts";
import type { Manifest, PlanFacts, PlannedJobRecord, RunEnd } from "../../src/record/manifest.ts";
import type { RequestRecord } from "../../src/record/request-record.ts";

let serial = 0;

/** An ok record; `end_ms` etc. as given, everything else not measured. */
export function record(more: Partial<RequestRecord> = {}): RequestRecord {
  const id = more.request_id ?? `r${serial++}`;
  return {
    request_id: id,
    job_id: id,
    turn: 0,
    status: "ok",
    failure: null,
    intended_ms: more.sent_ms ?? 0,
    slot_ms: null,
    sent_ms: 0,
    connect_ms: 0,
    headers_ms: null,
    first_byte_ms: null,
    first_token_ms: null,
    first_output_ms: null,
    last_token_ms: null,
    end_ms: null,
    chunk_tokens: null,
    chunks: more.chunk_ms?.length ?? 0,
    prompt_tokens: null,
    output_tokens: null,
    cached_tokens: null,
    reasoning_tokens: null,
    prompt_tokens_source: "none",
    output_tokens_source: "none",
    planned_prompt_tokens: null,
    planned_output_tokens: null,
    finish_reason: "stop",
    tool_calls: null,
    engine: null,
    attempts: 1,
    after: [],
    think_ms: 0,
    agent: null,
    ...more,
  };
}

/** A streamed reply: chunks at these instants, one token each unless told. */
export function streamed(
  sent: number,
  chunks: readonly number[],
  more: Partial<RequestRecord> = {},
): RequestRecord {
  return record({
    sent_ms: sent,
    first_token_ms: chunks[0] ?? null,
    first_output_ms: chunks[0] ?? null,
    last_token_ms: chunks[chunks.length - 1] ?? null,
    end_ms: chunks[chunks.length - 1] ?? null,
    chunk_ms: chunks,
    output_tokens: chunks.length,
    output_tokens_source: "server",
    ...more,
  });
}

export function failed(
  sent: number,
  end: number,
  code: FailureCode,
  more: Partial<RequestRecord> = {},
): RequestRecord {
  return record({
    status: "failed",
    failure: { code, message: code, http_status: code.startsWith("http") ? 503 : null },
    sent_ms: sent,
    end_ms: end,
    finish_reason: null,
    ...more,
  });
}

export function skipped(more: Partial<RequestRecord> = {}): RequestRecord {
  return record({ status: "skipped", intended_ms: null, sent_ms: null, finish_reason: null, ...more });
}

export interface ManifestParts {
  readonly plan?: Partial<PlanFacts>;
  /** `null`: the run has no end. */
  readonly end?: Partial<RunEnd> | null;
  readonly more?: Partial<Manifest>;
}

export function manifest({ plan = {}, end = {}, more = {} }: ManifestParts = {}): Manifest {
  return {
    reprise_run: 1,
    id: "0011223344556677",
    started_at: "2026-01-31T12:00:00.000Z",
    t0_wall_ms: Date.UTC(2026, 0, 31, 12),
    command: "replay",
    label: null,
    version: "0.1.0",
    host: { platform: "linux", node: "v20.20.2", cpus: 2, name: "host" },
    options: {},
    seeds: {},
    target: {
      url: "http://127.0.0.1:8000",
      model: "org/model",
      backend: "openai",
      simulated: false,
      server: null,
    },
    plan: {
      trace: "agents.jsonl",
      trace_sha256: null,
      format: "reprise",
      pacing: "jobs",
      requests: 0,
      jobs: 0,
      span_ms: null,
      max_concurrency: null,
      max_concurrent_jobs: null,
      speed: 1,
      think_scale: 1,
      gaps_capped: 0,
      duration_ms: null,
      warmup_ms: 0,
      optimal_hit_rate: null,
      optimal_cached_tokens: null,
      prompt_tokens: null,
      provenance: {},
      notes: [],
      gpus: null,
      ...plan,
    },
    tokenizer: null,
    metadata: {},
    end: end === null ? null : runEnd(end),
    ...more,
  };
}

/** All went to its end; nothing measured of the generator or the engine. */
export function runEnd(more: Partial<RunEnd> = {}): RunEnd {
  return {
    ended_ms: 0,
    interrupted: false,
    not_sent: 0,
    overdue: 0,
    generator: {
      loop_stall_p99_ms: null,
      loop_stall_max_ms: null,
      loop_stall_streaming_max_ms: null,
      cpu_share: null,
      loop_utilisation: null,
    },
    engine: null,
    ...more,
  };
}

export function plannedJob(
  job_id: string,
  turns: number,
  more: Partial<PlannedJobRecord> = {},
): PlannedJobRecord {
  return {
    job_id,
    turns,
    budget_ms: null,
    start_ms: null,
    recorded_ms: null,
    optimal_hit_rate: null,
    ...more,
  };
}
