/** Reads a run folder, whole or partial. */
import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { UserError } from "../core/failure.ts";
import { readLineBatches } from "../core/lines.ts";
import { withEngineRequests } from "./engine-requests.ts";
import { readJobs } from "./jobs-file.ts";
import { readManifest } from "./manifest-file.ts";
import type { Manifest, PlannedJobRecord } from "./manifest.ts";
import { parseRecordLine } from "./record-line.ts";
import type { RequestRecord } from "./request-record.ts";

export interface Run {
  readonly folder: string;
  readonly manifest: Manifest;
  /** The manifest has no end: the run was killed, or is under way. */
  readonly partial: boolean;
  /** Planned jobs in batches; nothing where the run wrote none. Each call reads anew. */
  jobs(): AsyncIterable<readonly PlannedJobRecord[]>;
  /** Records in the order they were written, in batches. Each call reads anew; the log is never held whole. */
  records(): AsyncIterable<readonly RequestRecord[]>;
  /** Records of the calibration pass (each request alone on the server); `null` where there was none. */
  calibration(): AsyncIterable<readonly RequestRecord[]> | null;
}

/**
 * Opens the run in `path` (the folder, or a file in it). {@link UserError} for anything that is no run folder or is
 * one of a newer version.
 */
export async function readRun(path: string): Promise<Run> {
  const folder = existsSync(path) && statSync(path).isFile() ? dirname(path) : path;
  const manifest = await readManifest(folder);
  const calibration = join(folder, CALIBRATION_FILE);
  return {
    folder,
    manifest,
    partial: manifest.end === null,
    jobs: () => readJobs(folder),
    records: () => withEngineRequests(folder, readRecords(join(folder, "records.jsonl"))),
    calibration: () => (existsSync(calibration) ? readRecords(calibration) : null),
  };
}

/** Same lines as `records.jsonl`; one for each request of the calibration pass. */
export const CALIBRATION_FILE = "calibration.jsonl";

/**
 * Batches of records. A last line that is not whole JSON is what a killed process left: it is dropped. Anything wrong
 * elsewhere is a {@link UserError} with `file:line`. A file that is not there holds no record.
 */
export async function* readRecords(path: string): AsyncGenerator<RequestRecord[]> {
  if (!existsSync(path)) return;
  let faulty: { line: number; reason: string } | null = null;
  for await (const lines of readLineBatches(path)) {
    const batch: RequestRecord[] = [];
    for (const line of lines) {
      if (line.text === "") continue;
      if (faulty !== null) throw damaged(path, faulty.line, faulty.reason);
      const record = parseRecordLine(line.text);
      if (typeof record !== "string") batch.push(record);
      else if (record.startsWith("not JSON")) faulty = { line: line.number, reason: record };
      else throw damaged(path, line.number, record);
    }
    if (batch.length > 0) yield batch;
  }
}

function damaged(path: string, line: number, reason: string): UserError {
  return new UserError(`${path}:${line}: ${reason}`, {
    hint: "the log is damaged; only its last line may be",
  });
}
