/** A finished run becomes what the user sees: the summary on stdout, `summary.json` in the folder, the exit code. */
import { EXIT, type ExitCode, UserError } from "../core/failure.ts";
import type { JsonObject } from "../core/json.ts";
import { plainText } from "../core/terminal-text.ts";
import { exitCodeOf, type RunAnalysis } from "../metric/index.ts";
import { readRun } from "../record/read-run.ts";
import { writeRunJson } from "../record/run-folder.ts";
import { renderReport } from "../report/index.ts";
import { analyzeFolder, summaryFlags } from "../run/analyze-run.ts";
import type { FinishedRun } from "../run/execute.ts";
import type { Io } from "./verb.ts";

/** The options that decide what is shown and how the run is judged. */
export interface FinishGiven {
  readonly json?: boolean;
  readonly max_failure_rate?: number;
  readonly strict_validity?: boolean;
}

/** `also`: what this command writes after the report. */
export async function finishRun(
  finished: FinishedRun,
  given: FinishGiven,
  io: Io,
  also?: (analysis: RunAnalysis) => Promise<void>,
): Promise<ExitCode> {
  const analysis = await analyzeFolder(finished.folder, summaryFlags(given as JsonObject));
  saveSummary(finished.folder, analysis, io);
  warnOfEmptyWindow(analysis, io);
  warnOfUnknownBudgets(analysis, io);
  await showReport(analysis, finished.folder, given.json === true ? "json" : "terminal", io);
  await also?.(analysis);
  if (finished.earlyStop !== null) {
    io.err(`reprise: ${plainText(finished.earlyStop.message)} (${finished.earlyStop.hint})\n`);
    return EXIT.unreachable;
  }
  return exitCodeOf(analysis.summary, {
    maxFailureRate: given.max_failure_rate ?? 0,
    strictValidity: given.strict_validity ?? false,
  });
}

/** A warm-up longer than the run leaves every statistic empty without a failure. */
function warnOfEmptyWindow({ summary }: RunAnalysis, io: Io): void {
  if (summary.counts.ok === 0 || summary.requests["e2e"]?.n !== 0) return;
  io.err(
    "warning: nothing was measured: no ok request was due in the measured window (--warmup, --duration)\n",
  );
}

/** A relative budget of jobs whose unloaded time nobody knows is no budget. */
function warnOfUnknownBudgets({ summary }: RunAnalysis, io: Io): void {
  const { budget, counts } = summary.jobs;
  if (budget.text === null || budget.jobs > 0 || counts.total === 0) return;
  io.err(
    `warning: --job-budget ${plainText(budget.text)}: no job's unloaded time is known (give --calibrate, or a trace with recorded ends)\n`,
  );
}

/** The summary is shown whatever the disk says of it; a disk that refuses is told. */
function saveSummary(folder: string, analysis: RunAnalysis, io: Io): void {
  try {
    writeRunJson(folder, "summary.json", analysis.summary);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    io.err(`warning: ${error.message}\n`);
  }
}

/** Renders one run on stdout. */
export async function showReport(
  analysis: RunAnalysis,
  folder: string,
  format: string,
  io: Pick<Io, "colour"> & { out(text: string): Promise<void> },
  table: string | null = null,
  detailed: boolean | null = null,
): Promise<void> {
  const run = await readRun(folder);
  const text = renderReport(format, {
    analysis,
    records: () => run.records(),
    options: { colour: io.colour, table, detailed },
  });
  for await (const part of typeof text === "string" ? [text] : text) await io.out(part);
}
