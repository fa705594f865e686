import { UserError } from "../core/failure.ts";
import type { Pacing } from "../record/manifest.ts";
import type { PlanOptions } from "./plan-options.ts";
import { countTurns, jobStart, type Workload } from "./workload.ts";

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
export function choosePacing(jobs: Workload, options: PacingOptions): PacingDecision {
  const turns = countTurns(jobs);
  let timed = 0;
  for (const job of jobs) for (const turn of job.turns) if (turn.offset_ms !== null) timed++;
  const started = jobs.filter((job) => jobStart(job) !== null).length;
  const decision =
    options.pacing === "auto"
      ? auto(jobs, options, { turns, timed, started })
      : { pacing: options.pacing, notes: [] };
  checkContradictions(decision.pacing, options, { turns, timed });
  const notes = [...decision.notes];
  if (
    decision.pacing === "jobs" &&
    started > 0 &&
    started < jobs.length &&
    options.arrival_type === "trace"
  ) {
    notes.push(`${jobs.length - started} of ${jobs.length} jobs have no arrival time and start at 0`);
  }
  if (decision.pacing === "jobs" && started === 0 && options.arrival_rate === null) {
    notes.push("the trace has no arrival times: all jobs start at 0");
  }
  return { pacing: decision.pacing, notes };
}

function auto(
  jobs: Workload,
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
  if (tellsThinkTimes(jobs)) {
    const told = jobs.some((job) =>
      job.turns.some((turn) => turn.parents.length > 0 && turn.think_ms !== null),
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
    jobs.some((job) => job.turns.length > 1)
      ? "the trace tells arrivals, but no time between the turns of a job"
      : "every job has one turn",
  );
}

/** A job of several turns in a trace that tells `think_ms`, `after` or recorded ends. */
function tellsThinkTimes(jobs: Workload): boolean {
  return jobs.some(
    (job) =>
      job.turns.length > 1 &&
      job.turns.some(
        ({ request }) =>
          request.think_ms !== null ||
          (request.after !== null && request.after.length > 0) ||
          request.recorded?.end_ms != null,
      ),
  );
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
