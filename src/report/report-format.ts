/** What a report format is. Each lives in a file of its own beside the table in `index.ts`. */
import type { RunAnalysis } from "../metric/summarize.ts";
import type { EngineSample } from "../record/engine-rows.ts";
import type { RequestRecord } from "../record/request-record.ts";

export interface ReportInput {
  readonly analysis: RunAnalysis;
  /** Reads the log anew, in batches, for formats that show single requests. */
  readonly records: () => AsyncIterable<readonly RequestRecord[]>;
  /** Reads the server's own metrics over time, where the run sampled them. */
  readonly engineRows?: () => AsyncIterable<readonly EngineSample[]>;
  /** The run's folder, to be shown. */
  readonly folder?: string;
  readonly options: ReportOptions;
}

export interface ReportOptions {
  /** ANSI colours; decided by the caller (a terminal, and no NO_COLOR). */
  readonly colour?: boolean;
  /** Which table a format of single tables gives. */
  readonly table?: string | null;
  /** Result files of other tools: with one entry a request; `null` = as the run was told (`--save-detailed`). */
  readonly detailed?: boolean | null;
}

export interface ReportFormat {
  readonly name: string;
  /** One line for the help. */
  readonly title: string;
  /** The report, whole or in parts. A wrong option is a UserError. */
  readonly render: (input: ReportInput) => string | AsyncIterable<string>;
}
