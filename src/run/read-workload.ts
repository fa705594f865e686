/** Reads a trace for a run: the jobs, and a digest of the content that tells later whether two runs replayed the same. */
import { createHash } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { readBytes } from "../core/lines.ts";
import type { JobTable } from "../trace/job-table.ts";
import { resolveJobs } from "../trace/jobs.ts";
import { readTrace, type TraceOptions } from "../trace/reader.ts";
import type { Trace } from "../trace/trace.ts";

export interface TraceWorkload {
  readonly trace: Trace;
  readonly jobs: JobTable;
  /** SHA-256 (hex) of the bytes, gzip undone; of all files in order for a folder; of the requests for standard input. */
  readonly sha256: string;
}

export async function readWorkload(path: string, options: TraceOptions): Promise<TraceWorkload> {
  const trace = await readTrace(path, options);
  const jobs = resolveJobs(trace.requests);
  return { trace, jobs, sha256: await digest(path, trace) };
}

async function digest(path: string, trace: Trace): Promise<string> {
  const hash = createHash("sha256");
  const info = path === "-" ? null : await stat(path).catch(() => null);
  if (info === null || !(info.isFile() || info.isDirectory())) {
    for (const request of trace.requests) hash.update(JSON.stringify(request));
  } else {
    for (const file of info.isDirectory() ? await filesIn(path) : [path]) {
      for await (const bytes of readBytes(file)) hash.update(bytes);
    }
  }
  return hash.digest("hex");
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
