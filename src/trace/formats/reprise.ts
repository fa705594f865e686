/** Our own format: one request a line, an optional first line `{"reprise_trace": 1, ...}` (FORMATS, "Ours"). */
import type { JsonObject } from "../../core/json.ts";
import type { ReadOptions, Sample, TraceFormat } from "../format.ts";
import { IdIndex } from "../id-index.ts";
import { findJobFaults } from "../jobs.ts";
import { newProvenance } from "../new-request.ts";
import { BadRow, RowAccount } from "../row-account.ts";
import { readJsonlRows } from "../row-reader.ts";
import { mostRowsHave, objectRows } from "../sample.ts";
import { PROPERTIES, type Origin, type Property, type Provenance, type Trace } from "../trace.ts";
import { plannedOutputTokens, type TraceRequest } from "../trace-request.ts";
import { parseLine, parseRequestRow, SharedValues } from "./reprise-row.ts";

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
  const read: TraceRequest[] = [];
  const ids = new IdIndex((position) => (read[position] as TraceRequest).request_id);
  const order = new JobOrder();
  const shared = new SharedValues();
  const lines: number[] = [];
  let header: JsonObject | null = null;
  let first = true;
  await readJsonlRows(
    path,
    account,
    (row, line) => {
      const isFirst = first;
      first = false;
      if (isFirst && row["reprise_trace"] !== undefined) {
        checkVersion(row["reprise_trace"]);
        header = row;
        return "header";
      }
      const request = parseRequestRow(row, shared);
      if (!ids.add(request.request_id))
        throw new BadRow(`request_id "${request.request_id}" occurred before`);
      order.add(request);
      read.push(request);
      lines.push(line);
      return undefined;
    },
    parseLine,
  );
  const requests = dropMisplaced(read, lines, account, order.doubtful);
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

/**
 * Finds the jobs that can have structural faults, while rows pass by. A job whose rows name no parents and come with
 * turns and arrivals that never fall cannot; such is nearly every job of a large trace.
 */
class JobOrder {
  readonly doubtful = new Set<string>();
  readonly #last = new Map<string, { turn: number; arrival: number }>();
  #job = "";
  #state = { turn: 0, arrival: 0 };

  add({ job_id, turn, arrival_ms, after }: TraceRequest): void {
    if (job_id !== this.#job) {
      this.#job = job_id;
      const known = this.#last.get(job_id);
      if (known === undefined) {
        this.#state = { turn: 0, arrival: 0 };
        this.#last.set(job_id, this.#state);
      } else {
        this.#state = known;
      }
    }
    const state = this.#state;
    const [ownTurn, ownArrival] = [turn ?? 0, arrival_ms ?? Infinity];
    if (after !== null || ownTurn < state.turn || ownArrival < state.arrival) this.doubtful.add(job_id);
    state.turn = ownTurn;
    state.arrival = ownArrival;
  }
}

function checkVersion(version: unknown): void {
  if (version !== TRACE_VERSION)
    throw new BadRow(`"reprise_trace" is ${JSON.stringify(version)}; this version reads ${TRACE_VERSION}`);
}

/** Faults that only a whole job shows (unknown parents, cycles, a turn before its parent), named by line. */
function dropMisplaced(
  requests: TraceRequest[],
  lines: readonly number[],
  account: RowAccount,
  doubtful: ReadonlySet<string>,
): TraceRequest[] {
  if (doubtful.size === 0) return requests;
  const jobs = new Map<string, number[]>();
  requests.forEach(({ job_id }, at) => {
    if (!doubtful.has(job_id)) return;
    const members = jobs.get(job_id);
    if (members === undefined) jobs.set(job_id, [at]);
    else members.push(at);
  });
  const bad = new Set<number>();
  for (const members of jobs.values()) {
    for (let left = members; ; left = left.filter((position) => !bad.has(position))) {
      const faults = findJobFaults(left.map((position) => requests[position] as TraceRequest));
      if (faults.length === 0) break;
      for (const { position, reason } of faults) {
        const at = left[position] as number;
        if (bad.has(at)) continue;
        bad.add(at);
        account.revoke(lines[at] as number, reason);
      }
    }
  }
  return bad.size === 0 ? requests : requests.filter((_, position) => !bad.has(position));
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
