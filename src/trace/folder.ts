/** A folder of files of one format, read file by file and merged into one trace. */
import { join } from "node:path";
import type { ReadOptions, TraceFormat } from "./format.ts";
import { shifted } from "./instant.ts";
import { sumRows } from "./row-account.ts";
import type { Origin, Property, Trace, TraceFault } from "./trace.ts";
import { PROPERTIES } from "./trace.ts";
import type { TraceRequest } from "./trace-request.ts";

/**
 * Reads `files` of `folder` in order. Where files share request or job ids, all ids are prefixed by their file's name;
 * block names that are file-wide stay apart by file. Files that know their place in the calendar (`epoch_ms` in the
 * header) keep their distance in time; others start together. A file without requests has no say in it.
 */
export async function readFolder(
  folder: string,
  files: readonly string[],
  format: TraceFormat,
  options: ReadOptions,
): Promise<Trace> {
  const name = options.name ?? folder;
  const traces: { file: string; trace: Trace }[] = [];
  for (const file of files) {
    const trace = await format.read(join(folder, file), { ...options, name: join(name, file) });
    traces.push({ file, trace });
  }
  const clash = haveClash(traces.map(({ trace }) => trace));
  const empty = traces.filter(({ trace }) => trace.requests.length === 0).length;
  const epochs = traces.map(({ trace }) => (trace.requests.length === 0 ? Infinity : epochOf(trace)));
  const first = epochs.reduce<number>((least, epoch) => Math.min(least, epoch ?? Infinity), Infinity);
  const aligned = first < Infinity && !epochs.includes(null);
  const requests: TraceRequest[] = [];
  const faults: TraceFault[] = [];
  const notes = new Set<string>();
  traces.forEach(({ file, trace }, at) => {
    const shift = aligned ? (epochs[at] as number) - first : 0;
    for (const request of trace.requests) requests.push(move(request, file, clash, shift));
    faults.push(...trace.faults);
    for (const note of trace.notes) notes.add(note);
  });
  if (files.length > 1 && !aligned)
    notes.add(`${files.length} files whose clocks are not related: all start at 0`);
  if (empty > 0) notes.add(`${empty} of ${files.length} files hold no requests`);
  return {
    format: format.name,
    path: folder,
    header: aligned ? { epoch_ms: first } : null,
    requests,
    rows: sumRows(traces.map(({ trace }) => trace.rows)),
    faults,
    provenance: weakest(traces.map(({ trace }) => trace)),
    notes: [...notes],
  };
}

function epochOf({ header }: Trace): number | null {
  const epoch = header?.["epoch_ms"];
  return typeof epoch === "number" ? epoch : null;
}

function haveClash(traces: readonly Trace[]): boolean {
  const ids = new Set<string>();
  const jobOf = new Map<string, number>();
  for (const [at, trace] of traces.entries()) {
    for (const { request_id, job_id } of trace.requests) {
      if (ids.has(request_id) || (jobOf.get(job_id) ?? at) !== at) return true;
      ids.add(request_id);
      jobOf.set(job_id, at);
    }
  }
  return false;
}

function move(request: TraceRequest, file: string, rename: boolean, shift: number): TraceRequest {
  const id = (old: string): string => (rename ? `${file}/${old}` : old);
  const { prompt } = request;
  return {
    ...shifted(request, shift),
    request_id: id(request.request_id),
    job_id: id(request.job_id),
    after: request.after?.map(id) ?? null,
    prompt:
      prompt.kind === "length" && prompt.hash_ids !== null
        ? { ...prompt, hash_scope: prompt.hash_scope === null ? file : `${file}/${prompt.hash_scope}` }
        : prompt,
  };
}

const STRENGTH: Record<Origin, number> = { recorded: 3, inferred: 2, "made up": 1, missing: 0 };

function weakest(all: readonly Trace[]): Record<Property, Origin> {
  const filled = all.filter(({ requests }) => requests.length > 0);
  const traces = filled.length > 0 ? filled : all;
  const result = {} as Record<Property, Origin>;
  for (const property of PROPERTIES) {
    const origins = traces.map(({ provenance }) => provenance[property]);
    result[property] = origins.reduce((a, b) => (STRENGTH[a] <= STRENGTH[b] ? a : b));
  }
  return result;
}
