/**
 * The critical path of a job. Walk back from the turn that ended last: its predecessor is the parent that ended last; a
 * turn released by time has as predecessor the latest turn that ended by its intended time. Every millisecond between
 * the job's start and its end lies in one step, and in one cause of that step, so the causes add up to `job_e2e`.
 */
import type { Ms } from "../../core/units.ts";
import { type Cause, CAUSES } from "./causes.ts";
import type { EngineSplit } from "./engine_split.ts";
import type { JobView } from "./job-view.ts";

export interface PathStep {
  readonly row: number;
  /** Gap to the predecessor's end, or to the job's start: think and tool time. */
  readonly tool_ms: Ms;
}

/** The path from the job's first turn on it to the turn that ended last. Empty where times are missing. */
export function criticalPath(job: JobView): PathStep[] {
  const { intended, end } = job.table.columns;
  const steps: PathStep[] = [];
  // A turn is on the path once, whatever a damaged log says of its parents.
  const seen = new Set<number>();
  const byEnd = rowsByEnd(job);
  for (let row = job.lastRow; row >= 0;) {
    seen.add(row);
    const due = intended[row] as number;
    if (Number.isNaN(due)) return [];
    const parents = job.table.parents(row);
    const before = parents.length > 0 ? lastParent(parents, end, seen) : lastEndedBy(byEnd(), end, due, seen);
    steps.push({ row, tool_ms: due - (before < 0 ? job.start_ms : (end[before] as number)) });
    row = before;
  }
  return steps.reverse();
}

/** The parent that ended last; −1 where none has a time. */
function lastParent(parents: Int32Array, end: Float64Array, seen: ReadonlySet<number>): number {
  let last = -1;
  for (const row of parents) {
    const ended = end[row] as number;
    if (!seen.has(row) && ended >= (last < 0 ? -Infinity : (end[last] as number))) last = row;
  }
  return last;
}

/** The job's turns by end, sorted when first asked for: jobs released by their parents never ask. */
function rowsByEnd({ rows, table }: JobView): () => Int32Array {
  const { end } = table.columns;
  let sorted: Int32Array | null = null;
  return () =>
    (sorted ??= rows
      .filter((row) => !Number.isNaN(end[row]))
      .sort((a, b) => (end[a] as number) - (end[b] as number) || a - b));
}

/** The latest turn that ended by this instant; −1 for a root. */
function lastEndedBy(byEnd: Int32Array, end: Float64Array, by: Ms, seen: ReadonlySet<number>): number {
  let low = 0;
  let high = byEnd.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((end[byEnd[middle] as number] as number) <= by) low = middle + 1;
    else high = middle;
  }
  for (let i = low - 1; i >= 0; i--) if (!seen.has(byEnd[i] as number)) return byEnd[i] as number;
  return -1;
}

/** ms of `job_e2e` by cause, in the order of CAUSES; `null` where the path has no times. */
export function breakdown(job: JobView, path: readonly PathStep[], split: EngineSplit): Float64Array | null {
  if (path.length === 0) return null;
  const sums = new Float64Array(CAUSES.length);
  for (const step of path) {
    const parts = turnParts(job, step.row, split);
    sums[CAUSES.indexOf("tool")] = (sums[CAUSES.indexOf("tool")] as number) + step.tool_ms;
    for (let i = 0; i < parts.length; i++) sums[i] = (sums[i] as number) + (parts[i] as number);
  }
  for (const value of sums) if (Number.isNaN(value)) return null;
  return sums;
}

const CLIENT = CAUSES.indexOf("client");
const SLOT = CAUSES.indexOf("slot");
const CONNECT = CAUSES.indexOf("connect");
const QUEUE = CAUSES.indexOf("engine_queue");
const PREFILL = CAUSES.indexOf("prefill");
const DECODE = CAUSES.indexOf("decode");
const TAIL = CAUSES.indexOf("tail");
const UNSPLIT = CAUSES.indexOf("unsplit");

/** ms from a turn's intended time to its end by cause, in the order of CAUSES. */
export function turnParts({ table }: Pick<JobView, "table">, row: number, split: EngineSplit): Float64Array {
  const { columns, metrics } = table;
  const parts = new Float64Array(CAUSES.length);
  const slotWait = metrics.slot_wait[row] as number;
  const sent = columns.sent[row] as number;
  const firstToken = columns.first_token[row] as number;
  const lastToken = columns.last_token[row] as number;
  const end = columns.end[row] as number;
  parts[SLOT] = Number.isNaN(slotWait) ? 0 : slotWait;
  parts[CLIENT] = metrics.lateness[row] as number;
  parts[CONNECT] = columns.connect[row] as number;
  if (Number.isNaN(firstToken) || Number.isNaN(lastToken)) {
    parts[UNSPLIT] = end - sent;
    return parts;
  }
  const prefill = split.prefill(row);
  parts[PREFILL] = prefill;
  parts[QUEUE] = firstToken - sent - prefill;
  parts[DECODE] = lastToken - firstToken;
  parts[TAIL] = end - lastToken;
  return parts;
}

/** The cause with the largest share; of equals the first in CAUSES. */
export function dominantCause(sums: Float64Array): Cause {
  let largest = 0;
  for (let i = 1; i < sums.length; i++) if ((sums[i] as number) > (sums[largest] as number)) largest = i;
  return CAUSES[largest] as Cause;
}
