/** `jobs.jsonl`: what each job was to be, written before anything is sent. */
import { closeSync, existsSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { UserError } from "../core/failure.ts";
import { readLineBatches } from "../core/lines.ts";
import { writeError, writeFileAtomic } from "./atomic-file.ts";
import type { PlannedJobRecord } from "./manifest.ts";
import { redactedJson } from "./redacted-json.ts";

const BATCH = 1000;

/** Writes one line a job. An existing file is refused. */
export function writeJobs(folder: string, jobs: Iterable<PlannedJobRecord>): void {
  const path = join(folder, "jobs.jsonl");
  try {
    const file = openSync(path, "wx");
    try {
      let lines: string[] = [];
      const flush = (): void => {
        const bytes = Buffer.from(lines.join(""));
        for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at, bytes.length - at);
        lines = [];
      };
      for (const job of jobs) {
        lines.push(`${redactedJson(job)}\n`);
        if (lines.length === BATCH) flush();
      }
      flush();
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw writeError(path, error);
  }
}

/** The same again, of an existing file: the run is over, and fewer jobs than planned were begun. Whole or not at all. */
export function rewriteJobs(folder: string, jobs: Iterable<PlannedJobRecord>): void {
  const path = join(folder, "jobs.jsonl");
  let text = "";
  for (const job of jobs) text += `${redactedJson(job)}\n`;
  writeFileAtomic(path, text);
}

/** Batches of jobs, in the order of the plan; nothing where the run wrote none. */
export async function* readJobs(folder: string): AsyncGenerator<PlannedJobRecord[]> {
  const path = join(folder, "jobs.jsonl");
  if (!existsSync(path)) return;
  for await (const lines of readLineBatches(path)) {
    const batch: PlannedJobRecord[] = [];
    for (const line of lines) {
      if (line.text === "") continue;
      batch.push(parseJob(line.text, `${path}:${line.number}`));
    }
    yield batch;
  }
}

function parseJob(text: string, where: string): PlannedJobRecord {
  let row: Record<string, unknown> | null = null;
  try {
    row = JSON.parse(text) as Record<string, unknown> | null;
  } catch {
    // told below
  }
  if (row === null || typeof row["job_id"] !== "string" || typeof row["turns"] !== "number")
    throw new UserError(`${where}: not a planned job`, { hint: "the run folder is damaged" });
  const number = (key: string): number | null => {
    const value = row[key];
    return typeof value === "number" && Number.isFinite(value) ? value : null;
  };
  return {
    job_id: row["job_id"],
    turns: row["turns"],
    budget_ms: number("budget_ms"),
    start_ms: number("start_ms"),
    recorded_ms: number("recorded_ms"),
    ...(row["unloaded_ms"] === undefined ? {} : { unloaded_ms: number("unloaded_ms") }),
    optimal_hit_rate: number("optimal_hit_rate"),
  };
}
