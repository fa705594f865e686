/** A trace in memory, with the account of what was read: rows read = turns' rows + skipped + refused, with reasons. */
import type { JsonObject } from "../core/json.ts";
import type { List } from "../core/list.ts";
import type { TraceRequest } from "./trace-request.ts";

/** What a trace may tell of the load it was taken from. */
export const PROPERTIES = [
  "arrivals",
  "order",
  "think_time",
  "prompt_text",
  "prompt_length",
  "prefix_sharing",
  "output_length",
  "sampling",
] as const;
export type Property = (typeof PROPERTIES)[number];

/** `missing` in a trace becomes `made up` (or stays unused) in a replay. */
export type Origin = "recorded" | "inferred" | "made up" | "missing";
export type Provenance = Readonly<Record<Property, Origin>>;

/** A row that could not be used. `refused` rows stop the command unless `--skip-bad` was given. */
export interface TraceFault {
  readonly file: string;
  /** 1-based line, or `null` for a document that is not made of lines. */
  readonly line: number | null;
  readonly reason: string;
}

export interface RowCounts {
  /** Rows (lines, events, observations) that the reader looked at; blank lines are not rows. */
  readonly read: number;
  /** Rows that are, or are part of, turns. */
  readonly used: number;
  /** Rows of kinds that are no turns, by kind (tool results, markers, ...). */
  readonly skipped: Readonly<Record<string, number>>;
  /** Bad rows (see faults). */
  readonly refused: number;
}

export interface Trace {
  /** A format's name (trace/formats). */
  readonly format: string;
  /** As the user named it. */
  readonly path: string;
  /** The first line of our own format, or what the reader knows of the source. */
  readonly header: JsonObject | null;
  readonly requests: List<TraceRequest>;
  readonly rows: RowCounts;
  readonly faults: readonly TraceFault[];
  readonly provenance: Provenance;
  /** Things the user should know: quantised arrivals, duplicate files, inferred units... One line each. */
  readonly notes: readonly string[];
}
