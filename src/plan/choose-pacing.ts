import { UserError } from "../core/failure.ts";
import type { Pacing } from "../record/manifest.ts";
import type { PlanOptions } from "./plan-options.ts";
import { FIELD } from "../trace/trace-table.ts";
import { countJobs, countTurns, jobStarts, type Workload } from "./workload.ts";

export interface PacingDecision {
  readonly pacing: Exclude<Pacing, "load">;
  readonly notes: readonly string[];
}

type PacingOptions = Pick<
  PlanOptions,
  | "pacing"
  | "arrival_type"
  | "arrival_rate"
  | "think_scale"
  | "speed"
  | "copies"
  | "stagger_ms"
  | "stagger_jitter_ms"
>;

/**
 * `auto` is `jobs` if some job has more than one turn and the trace tells think times (`think_ms`, `after` or recorded
 * ends), else `recorded`; without arrivals `closed`, unless a rate makes them up (METRICS). What an explicit pacing
 * cannot do is a usage error.
 */
export function choosePacing(work: Workload, options: PacingOptions): PacingDecision {
  const turns = countTurns(work);
  const timed = countKnown(work.offset_ms);
  const started = countKnown(jobStarts(work));
  const jobs = countJobs(work);
  const decision =
    options.pacing === "auto"
      ? auto(work, options, { turns, timed, started })
      : { pacing: options.pacing, notes: [] };
  checkContradictions(decision.pacing, options, { turns, timed });
  const notes = [...decision.notes];
  if (decision.pacing === "jobs" && started > 0 && started < jobs && options.arrival_type === "trace") {
    notes.push(`${jobs - started} of ${jobs} jobs have no arrival time and start at 0`);
  }
  if (decision.pacing === "jobs" && started === 0 && options.arrival_rate === null) {
    notes.push("the trace has no arrival times: all jobs start at 0");
  }
  return { pacing: decision.pacing, notes };
}

function countKnown(values: Float64Array): number {
  let known = 0;
  for (const value of values) if (!Number.isNaN(value)) known++;
  return known;
}

function auto(
  work: Workload,
  options: PacingOptions,
  { turns, timed, started }: { turns: number; timed: number; started: number },
): PacingDecision {
  const chosen = (pacing: PacingDecision["pacing"], why: string): PacingDecision => ({
    pacing,
    notes: [`pacing ${pacing}: ${why}`],
  });
  if (options.copies > 1 || options.stagger_ms > 0 || options.stagger_jitter_ms > 0)
    return chosen("closed", "copies and staggered starts are those of a closed run");
  if (started === 0) {
    if (options.arrival_rate !== null)
      return chosen("jobs", "the trace has no arrival times, the rate gives them");
    if (options.arrival_type !== "trace") {
      throw new UserError(
        `--arrival-type ${options.arrival_type} needs --arrival-rate: the trace has no arrival times`,
      );
    }
    return chosen("closed", "the trace has no arrival times");
  }
  if (tellsThinkTimes(work)) {
    const told = work.parents.some(
      (parents, turn) => parents.length > 0 && !Number.isNaN(work.think_ms[turn]),
    );
    return chosen(
      "jobs",
      told
        ? "jobs have several turns and the trace tells the time between them"
        : "jobs have several turns that name their parents",
    );
  }
  if (timed < turns)
    return chosen("jobs", `${turns - timed} of ${turns} requests have no arrival time of their own`);
  return chosen(
    "recorded",
    countJobs(work) < turns
      ? "the trace tells arrivals, but no time between the turns of a job"
      : "every job has one turn",
  );
}

/** A job of several turns in a trace that tells `think_ms`, `after` or recorded ends. */
function tellsThinkTimes({ requests, first, row }: Workload): boolean {
  const tells = (at: number): boolean =>
    !Number.isNaN(requests.number(FIELD.think_ms, at)) ||
    !Number.isNaN(requests.number(FIELD.end_ms, at)) ||
    requests.parentCount(at) > 0;
  for (let job = 0; job + 1 < first.length; job++) {
    const [from, to] = [first[job] as number, first[job + 1] as number];
    if (to - from < 2) continue;
    for (let turn = from; turn < to; turn++) if (tells(row[turn] as number)) return true;
  }
  return false;
}

function checkContradictions(
  pacing: PacingDecision["pacing"],
  options: PacingOptions,
  { turns, timed }: { turns: number; timed: number },
): void {
  if (pacing === "recorded" && timed < turns) {
    throw new UserError(
      timed === 0
        ? "--pacing recorded: the trace has no arrival times"
        : `--pacing recorded: ${turns - timed} of ${turns} requests have no arrival time`,
      { hint: "use --pacing jobs (starts by time or rate) or --pacing closed (N jobs at a time)" },
    );
  }
  if (pacing === "closed" && (options.arrival_rate !== null || options.arrival_type !== "trace")) {
    throw new UserError(
      "--pacing closed starts jobs when others end: --arrival-rate and --arrival-type contradict it",
      {
        hint: "leave them out, or use --pacing jobs",
      },
    );
  }
  if (pacing === "closed" && options.speed !== 1) {
    throw new UserError("--pacing closed does not use arrival times: --speed has nothing to scale", {
      hint: "--think-scale scales think and tool times",
    });
  }
  if (pacing === "recorded" && options.think_scale !== 1) {
    throw new UserError(
      "--think-scale needs think times: with --pacing recorded every request has its recorded time",
      {
        hint: "use --pacing jobs",
      },
    );
  }
  if (
    pacing !== "closed" &&
    (options.copies > 1 || options.stagger_ms > 0 || options.stagger_jitter_ms > 0)
  ) {
    throw new UserError("--copies and --stagger belong to --pacing closed");
  }
}
