/** What the page is given. Every number in it was computed by `metric/` or `compare/`; the page lays out and formats. */
import type { JsonObject, JsonValue } from "../../core/json.ts";
import type { Ms } from "../../core/units.ts";
import type { Histogram } from "../../metric/histogram.ts";
import type { Cause } from "../../metric/job/causes.ts";
import type { ByPromptLength } from "../../metric/run/by_prompt_length.ts";
import type { RunSeries } from "../../metric/run/series.ts";
import type { Summary } from "../../metric/summary.ts";
import type { AnswerLine } from "../answer.ts";
import type { Section } from "../facts.ts";
import type { Headline, KeyNumber } from "./first-screen.ts";
import type { ColumnDirectory } from "./columns.ts";

/** Version of this layout; page and data always come from one build, so a difference is a bug. */
export const PAGE_FORMAT = 1;

export interface PageData {
  readonly reprise_page: typeof PAGE_FORMAT;
  readonly version: string;
  readonly title: string;
  readonly runs: readonly RunPage[];
  /** Several runs: which one, and why. `null` for one run. */
  readonly choice: Choice | null;
  /** Every other run against the first. */
  readonly pairs: readonly Pair[];
  /** Where the page comes from a local server: the path of the list of runs. */
  readonly home: string | null;
}

export interface RunPage {
  readonly name: string;
  readonly folder: string;
  readonly headline: Headline;
  readonly key_numbers: readonly KeyNumber[];
  readonly answer: readonly AnswerLine[];
  readonly fidelity: AnswerLine;
  readonly sections: readonly Section[];
  readonly tables: readonly MetricTable[];
  readonly summary: Summary;
  /** The one budget that all jobs share; `null` where they have none, or differ. */
  readonly budget_ms: Ms | null;
  readonly causes: readonly CauseRow[];
  readonly split_note: string | null;
  readonly histograms: Readonly<Record<string, Histogram>>;
  /** Several runs: bootstrap bands by metric. */
  readonly bands: Readonly<Record<string, Band>>;
  readonly by_prompt_length: Readonly<Record<string, ByPromptLength>>;
  readonly series: RunSeries | null;
  readonly engine: EngineSeries | null;
  readonly failures: readonly FailureKind[];
  readonly options: readonly Option[];
  readonly facts: JsonObject;
  /** Columns of jobs and turns, packed; `null` where the run has none. */
  readonly detail: Detail | null;
  /** What is not in the file, in words. */
  readonly left_out: readonly string[];
}

export interface MetricTable {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly { readonly id: string; readonly cells: readonly string[] }[];
  readonly note: string | null;
}

export interface CauseRow {
  readonly cause: Cause;
  readonly title: string;
  readonly mean_ms: Ms;
  readonly share: number;
  readonly dominated: number;
}

export interface Band {
  readonly percentiles: readonly number[];
  readonly value: readonly number[];
  readonly low: readonly number[];
  readonly high: readonly number[];
  readonly jobs: number;
}

export interface EngineSeries {
  /** Samples in the file, and how many of them failed. */
  readonly samples: number;
  readonly failed: number;
  readonly ms: readonly Ms[];
  /** By name; `null` where a sample does not tell. */
  readonly values: Readonly<Record<string, readonly (number | null)[]>>;
}

export interface FailureKind {
  readonly code: string;
  readonly n: number;
  readonly messages: readonly { readonly text: string; readonly n: number }[];
}

export interface Option {
  readonly key: string;
  readonly value: JsonValue;
}

export interface Detail {
  readonly jobs: number;
  readonly jobs_total: number;
  readonly turns: number;
  readonly turns_total: number;
  readonly records: number;
  readonly directory: ColumnDirectory;
  readonly agents: readonly string[];
  /** Bytes after unpacking. */
  readonly bytes: number;
}

export interface Choice {
  readonly winner: string | null;
  readonly reason: string;
  /** Why the numbers differ, in words. */
  readonly because: readonly string[];
  readonly disagreement: string | null;
  readonly rank_by: string;
  readonly runs: readonly RankedRun[];
  readonly pareto: {
    readonly x: string;
    readonly y: string;
    readonly x_title: string;
    readonly y_title: string;
  };
}

export interface RankedRun {
  readonly name: string;
  readonly rank: number | null;
  readonly barred: string | null;
  readonly pareto: boolean;
  readonly x: number | null;
  readonly y: number | null;
}

export interface Pair {
  readonly a: number;
  readonly b: number;
  /** Why the two cannot be compared; the rest is empty then. */
  readonly refused: string | null;
  readonly paired_jobs: number;
  readonly concerns: readonly { readonly severity: string; readonly text: string }[];
  readonly rows: readonly PairRow[];
  readonly changes: readonly { readonly key: string; readonly a: JsonValue; readonly b: JsonValue }[];
  readonly status_changes: readonly { readonly job_id: string; readonly a: string; readonly b: string }[];
  readonly status_changes_total: number;
}

export interface PairRow {
  readonly text: string;
  readonly metric: string;
  readonly a: number | null;
  readonly b: number | null;
  readonly ratio: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly verdict: "better" | "worse" | "unclear";
}
