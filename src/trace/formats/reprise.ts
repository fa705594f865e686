/** Our own format: one request a line, an optional first line `{"reprise_trace": 1, ...}` (FORMATS, "Ours"). */
import type { JsonObject } from "../../core/json.ts";
import type { ReadOptions, Sample, TraceFormat } from "../format.ts";
import { findJobFaults } from "../jobs.ts";
import { newProvenance } from "../new-request.ts";
import { BadRow, RowAccount } from "../row-account.ts";
import { readJsonlRows } from "../row-reader.ts";
import { mostRowsHave, objectRows } from "../sample.ts";
import { PROPERTIES, type Origin, type Property, type Provenance, type Trace } from "../trace.ts";
import { plannedOutputTokens, type TraceRequest } from "../trace-request.ts";
import { parseRequestRow } from "./reprise-row.ts";

/** Version of the format; a file that says a higher one is refused. */
export const TRACE_VERSION = 1;

export const reprise: TraceFormat = {
  name: "reprise",
  title: "Reprise's own JSONL: request_id, job_id, arrival_ms, prompt or prompt_tokens, max_tokens",
  marks: ["request_id", "job_id", "arrival_ms", "max_tokens"],
  detect(sample: Sample): number {
    const first = objectRows(sample)[0];
    if (first !== undefined && "reprise_trace" in first) return 1;
    return mostRowsHave(sample, "request_id", "job_id") &&
      (mostRowsHave(sample, "arrival_ms") || mostRowsHave(sample, "max_tokens"))
      ? 0.95
      : 0;
  },
  read: readReprise,
};

async function readReprise(path: string, options: ReadOptions): Promise<Trace> {
  const account = new RowAccount(path, options);
  const seen = new Set<string>();
  const lines: number[] = [];
  let requests: TraceRequest[] = [];
  let header: JsonObject | null = null;
  let first = true;
  await readJsonlRows(path, account, (row, line) => {
    const isFirst = first;
    first = false;
    if (isFirst && row["reprise_trace"] !== undefined) {
      checkVersion(row["reprise_trace"]);
      header = row;
      return "header";
    }
    const request = parseRequestRow(row);
    const before = seen.size;
    seen.add(request.request_id);
    if (seen.size === before) throw new BadRow(`request_id "${request.request_id}" occurred before`);
    requests.push(request);
    lines.push(line);
    return undefined;
  });
  requests = dropMisplaced(requests, lines, account);
  return {
    format: "reprise",
    path,
    header,
    requests,
    rows: account.counts(),
    faults: account.faults,
    provenance: provenanceOf(requests, header),
    notes: notesOf(header),
  };
}

function checkVersion(version: unknown): void {
  if (version !== TRACE_VERSION)
    throw new BadRow(`"reprise_trace" is ${JSON.stringify(version)}; this version reads ${TRACE_VERSION}`);
}

/** Faults that only a whole job shows (unknown parents, cycles, a turn before its parent), named by line. */
function dropMisplaced(
  requests: readonly TraceRequest[],
  lines: readonly number[],
  account: RowAccount,
): TraceRequest[] {
  const bad = new Uint8Array(requests.length);
  let anyBad = false;
  for (const members of positionsByJob(requests)) {
    for (let left = members; ; left = left.filter((position) => bad[position] === 0)) {
      const faults = findJobFaults(left.map((position) => requests[position] as TraceRequest));
      if (faults.length === 0) break;
      const named = new Set<number>();
      for (const { position, reason } of faults) {
        const at = left[position] as number;
        if (named.has(at)) continue;
        named.add(at);
        account.revoke(lines[at] as number, reason);
        bad[at] = 1;
        anyBad = true;
      }
    }
  }
  return anyBad ? requests.filter((_, position) => bad[position] === 0) : [...requests];
}

/** Positions of jobs that can have such faults at all: more than one row, or a row that names parents. */
function positionsByJob(requests: readonly TraceRequest[]): Iterable<number[]> {
  const jobs = new Map<string, number[]>();
  for (let at = 0; at < requests.length; at++) {
    const { job_id } = requests[at] as TraceRequest;
    const members = jobs.get(job_id);
    if (members === undefined) jobs.set(job_id, [at]);
    else members.push(at);
  }
  return [...jobs.values()].filter(
    (members) => members.length > 1 || (requests[members[0] as number]?.after?.length ?? 0) > 0,
  );
}

function provenanceOf(requests: readonly TraceRequest[], header: JsonObject | null): Provenance {
  const all = (test: (request: TraceRequest) => boolean): Origin =>
    requests.every(test) ? "recorded" : "missing";
  const some = (test: (request: TraceRequest) => boolean): Origin =>
    requests.some(test) ? "recorded" : "missing";
  const found: Record<Property, Origin> = newProvenance({
    arrivals: some((request) => request.arrival_ms !== null),
    order: requests.some((request) => request.after !== null || request.turn !== null)
      ? "recorded"
      : "inferred",
    think_time:
      some((request) => request.think_ms !== null) === "recorded"
        ? "recorded"
        : requests.some((request) => request.recorded?.end_ms != null)
          ? "inferred"
          : "missing",
    prompt_text: all((request) => request.prompt.kind !== "length"),
    prompt_length: all(
      (request) =>
        request.prompt.kind === "length" ||
        request.prompt.kind === "ids" ||
        request.recorded?.prompt_tokens != null,
    ),
    prefix_sharing: all((request) => request.prompt.kind !== "length" || request.prompt.hash_ids !== null),
    output_length: all((request) => plannedOutputTokens(request) !== null),
    sampling: some((request) => request.temperature !== null || request.params !== null),
  });
  // A header knows better: a converted trace says what its source told.
  const told = header?.["provenance"];
  if (typeof told === "object" && told !== null && !Array.isArray(told)) {
    for (const property of PROPERTIES) {
      const origin = (told as JsonObject)[property];
      if (origin === "recorded" || origin === "inferred" || origin === "made up" || origin === "missing")
        found[property] = origin;
    }
  }
  return found;
}

function notesOf(header: JsonObject | null): readonly string[] {
  const notes = header?.["notes"];
  return Array.isArray(notes) ? notes.filter((note): note is string => typeof note === "string") : [];
}
