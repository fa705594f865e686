/** Run folders made by hand, so that every number on a page is known. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Manifest, PlannedJobRecord } from "../../src/record/manifest.ts";
import type { RequestRecord } from "../../src/record/request-record.ts";
import { writeRows } from "../support/json-lines.ts";
import { manifest, plannedJob, record as unmeasured } from "../support/run-samples.ts";

/** A request that went well: everything told, four tokens 30 ms apart. */
export function record(over: Partial<RequestRecord>): RequestRecord {
  return unmeasured({
    request_id: "r",
    job_id: "j",
    intended_ms: 0,
    headers_ms: 10,
    first_byte_ms: 10,
    first_token_ms: 100,
    first_output_ms: 100,
    last_token_ms: 190,
    end_ms: 200,
    chunk_ms: [100, 130, 160, 190],
    chunks: 4,
    prompt_tokens: 50,
    output_tokens: 4,
    cached_tokens: 0,
    prompt_tokens_source: "server",
    output_tokens_source: "server",
    planned_prompt_tokens: 50,
    planned_output_tokens: 4,
    ...over,
  });
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
  readonly jobs?: readonly (Partial<PlannedJobRecord> & Pick<PlannedJobRecord, "job_id">)[];
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
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifestOf(run, jobs.length)));
  writeRows(
    join(folder, "jobs.jsonl"),
    jobs.map((job) => plannedJob(job.job_id, 1, job)),
  );
  writeRows(join(folder, "records.jsonl"), run.records);
  if (run.engineRows !== undefined) writeRows(join(folder, "engine.jsonl"), run.engineRows);
  return folder;
}

function manifestOf({ records, manifest: more = {}, plan, end }: MadeRun, jobs: number): Manifest {
  const last = Math.max(0, ...records.map(({ end_ms }) => end_ms ?? 0));
  return manifest({
    plan: { trace: "made.jsonl", trace_sha256: "00", requests: records.length, jobs, ...plan },
    end: end === undefined ? { ended_ms: last } : end,
    more,
  });
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
