/** Connects a run to the terminal: what will be replayed, progress, warnings, Ctrl-C. */
import { formatDuration } from "../core/duration.ts";
import { plainText } from "../core/terminal-text.ts";
import type { Plan } from "../plan/plan.ts";
import { turnsOfFirst } from "../plan/planned-requests.ts";
import { startProgress, type Progress } from "../run/progress.ts";
import type { RunEnvironment } from "../run/run-environment.ts";
import type { TraceWorkload } from "../run/read-workload.ts";
import { firstFailures } from "./first-failures.ts";
import type { Io } from "./verb.ts";

export interface RunSession {
  readonly environment: RunEnvironment;
  /** Takes the progress line away. Call it however the run ended. */
  end(): void;
}

export interface SessionOptions {
  readonly quiet: boolean;
  /** Told the run's folder once it exists. */
  readonly onFolder?: (folder: string) => void;
}

export function runEnvironment(io: Io, options: SessionOptions): RunSession {
  let progress: Progress | null = null;
  const say = (text: string): void => {
    progress?.clear();
    io.err(`${text}\n`);
  };
  const onFailure = firstFailures(say);
  return {
    environment: {
      clock: io.clock,
      env: io.env,
      warn: (text) => say(`warning: ${plainText(text)}`),
      note: (text) => {
        if (!options.quiet) say(`note: ${plainText(text)}`);
      },
      onPlan: (workload, plan) => {
        if (options.quiet) return;
        for (const line of planLines(workload, plan)) say(line);
      },
      onLoad: (dataset, plan) => {
        if (options.quiet) return;
        const what = dataset.path === null ? dataset.name : `${dataset.path} (${dataset.name})`;
        say(`dataset: ${plainText(what)}: ${count(plan.requests.length, "request")}${spanText(plan)}`);
        for (const note of [...dataset.notes, ...plan.notes]) say(`  ${plainText(note)}`);
      },
      onStart: (run, plan) => {
        options.onFolder?.(run.folder);
        if (options.quiet) return;
        say(`run folder: ${plainText(run.folder)}`);
        if (run.virtual) return;
        progress = startProgress({
          clock: io.clock,
          counts: run.counts,
          t0: run.t0,
          span_ms: plan.span_ms,
          tty: io.errIsTty,
          columns: io.columns,
          planned: plannedJobs(plan),
          write: (text) => io.err(text),
        });
      },
      onRecord: (record) => {
        progress?.onRecord(record);
        if (!options.quiet) onFailure(record);
      },
      onInterrupt: (handler) =>
        io.onInterrupt((count) => {
          say(
            count === 1
              ? "stopping: requests in flight may end within 5 s (again to stop now)"
              : "stopping now",
          );
          handler(count);
        }),
    },
    end() {
      progress?.stop();
      progress = null;
    },
  };
}

/**
 * Turns and budget by job, for the job times of the live view. Jobs of one turn without a budget are not listed: there can be
 * a million of them.
 */
function plannedJobs(plan: Plan): (jobId: string) => { turns: number; budget_ms: number | null } | null {
  const listed = new Map<string, { turns: number; budget_ms: number | null }>();
  for (const { job_id, requests, budget_ms } of plan.jobs)
    if (requests.length !== 1 || budget_ms !== null)
      listed.set(job_id, { turns: requests.length, budget_ms });
  return (jobId) => listed.get(jobId) ?? ONE_TURN;
}

const ONE_TURN = { turns: 1, budget_ms: null };

function planLines({ trace }: TraceWorkload, plan: Plan): string[] {
  const { skipped, refused } = trace.rows;
  const left = Object.entries(skipped).map(
    ([kind, count]) => `${count} ${kind} ${count === 1 ? "row" : "rows"} skipped`,
  );
  if (refused > 0) left.push(`${refused} bad ${refused === 1 ? "row" : "rows"} skipped`);
  const span = spanText(plan);
  // Spare copies are no more than a supply.
  const jobs = plan.spare_from ?? plan.jobs.length;
  const requests = turnsOfFirst(plan.jobs, jobs);
  return [
    `trace: ${plainText(trace.path)} (${trace.format}): ${count(jobs, "job")}, ${count(requests, "request")}${span}`,
    ...left.map((text) => `  ${plainText(text)}`),
    ...trace.faults
      .slice(0, 5)
      .map(
        (fault) =>
          `  ${plainText(`${fault.file}${fault.line === null ? "" : `:${fault.line}`}: ${fault.reason}`)}`,
      ),
    ...[...trace.notes, ...plan.notes].map((note) => `  ${plainText(note)}`),
  ];
}

/** The span is shown before anything is sent: a wrong unit is seen here. */
function spanText({ pacing, span_ms }: Plan): string {
  if (span_ms === null) return "";
  const what = pacing === "jobs" ? "the first to the last job start" : "the first to the last send";
  return `, ${formatDuration(span_ms)} from ${what}`;
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
