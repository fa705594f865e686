/** Run folders made by hand, so that every number on a page is known. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Manifest, PlannedJobRecord } from "../../src/record/manifest.ts";
import type { RequestRecord } from "../../src/record/request-record.ts";

export function record(over: Partial<RequestRecord>): RequestRecord {
  return {
    request_id: "r",
    job_id: "j",
    turn: 0,
    status: "ok",
    failure: null,
    intended_ms: 0,
    slot_ms: null,
    sent_ms: 0,
    connect_ms: 0,
    headers_ms: 10,
    first_byte_ms: 10,
    first_token_ms: 100,
    first_output_ms: 100,
    last_token_ms: 190,
    end_ms: 200,
    chunk_ms: [100, 130, 160, 190],
    chunk_tokens: null,
    chunks: 4,
    prompt_tokens: 50,
    output_tokens: 4,
    cached_tokens: 0,
    reasoning_tokens: null,
    prompt_tokens_source: "server",
    output_tokens_source: "server",
    planned_prompt_tokens: 50,
    planned_output_tokens: 4,
    finish_reason: "stop",
    tool_calls: null,
    engine: null,
    attempts: 1,
    after: [],
    think_ms: 0,
    agent: null,
    ...over,
  };
}

/** The times of a request that takes `ttft` to its first token and ends after `e2e`. */
export function timed(
  sent: number,
  ttft: number,
  e2e: number,
  over: Partial<RequestRecord> = {},
): Partial<RequestRecord> {
  const first = sent + ttft;
  const end = sent + e2e;
  return {
    intended_ms: sent,
    sent_ms: sent,
    headers_ms: sent,
    first_byte_ms: first,
    first_token_ms: first,
    first_output_ms: first,
    last_token_ms: end,
    end_ms: end,
    chunk_ms: [first, end],
    chunks: 2,
    ...over,
  };
}

export interface MadeRun {
  readonly records: readonly RequestRecord[];
  readonly jobs?: readonly Partial<PlannedJobRecord>[];
  readonly manifest?: Partial<Manifest>;
  readonly plan?: Partial<Manifest["plan"]>;
  readonly end?: Manifest["end"];
  readonly engineRows?: readonly object[];
}

export function writeRun(folder: string, run: MadeRun): string {
  mkdirSync(folder, { recursive: true });
  const ids = [...new Set(run.records.map(({ job_id }) => job_id))];
  const jobs =
    run.jobs ??
    ids.map((job_id) => ({ job_id, turns: run.records.filter((one) => one.job_id === job_id).length }));
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest(run, jobs.length)));
  writeFileSync(
    join(folder, "jobs.jsonl"),
    jobs
      .map(
        (job) =>
          `${JSON.stringify({ turns: 1, budget_ms: null, start_ms: null, recorded_ms: null, optimal_hit_rate: null, ...job })}\n`,
      )
      .join(""),
  );
  writeFileSync(join(folder, "records.jsonl"), run.records.map((one) => `${JSON.stringify(one)}\n`).join(""));
  if (run.engineRows !== undefined)
    writeFileSync(
      join(folder, "engine.jsonl"),
      run.engineRows.map((row) => `${JSON.stringify(row)}\n`).join(""),
    );
  return folder;
}

function manifest({ records, manifest: over, plan, end }: MadeRun, jobs: number): Manifest {
  const last = Math.max(0, ...records.map(({ end_ms }) => end_ms ?? 0));
  return {
    reprise_run: 1,
    id: "made",
    started_at: "2026-01-31T12:00:00.000Z",
    t0_wall_ms: 1769860800000,
    command: "replay",
    label: null,
    version: "0.0.0",
    host: { platform: "linux x64", node: "20.19.0", cpus: 2, name: "host" },
    options: {},
    seeds: { seed: 1 },
    target: { url: "http://127.0.0.1:1", model: "m", backend: "openai", simulated: false, server: null },
    plan: {
      trace: "made.jsonl",
      trace_sha256: "00",
      format: "reprise",
      pacing: "jobs",
      requests: records.length,
      jobs,
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
    end:
      end !== undefined
        ? end
        : {
            ended_ms: last,
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
          },
    ...over,
  };
}

/** Three jobs of two turns that take 1, 2 and 3 s from start to end, 600 ms of each in tools. */
export function threeJobs(scale = 1): RequestRecord[] {
  return [1000, 2000, 3000].flatMap((time, job) => {
    const start = job * 100;
    const half = ((time - 600) / 2) * scale;
    return [
      record({ ...timed(start, half / 2, half), request_id: `j${job}/0`, job_id: `job-${job}`, turn: 0 }),
      record({
        ...timed(start + half + 600, half / 2, half),
        request_id: `j${job}/1`,
        job_id: `job-${job}`,
        turn: 1,
        after: [`j${job}/0`],
        think_ms: 600,
      }),
    ];
  });
}
