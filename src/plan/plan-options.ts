/** What a trace's plan can be asked for. Every contradiction and every value out of range is refused here. */
import { UserError } from "../core/failure.ts";
import type { Ms, PerSecond, Tokens } from "../core/units.ts";

export const PACINGS = ["auto", "recorded", "jobs", "closed"] as const;
export type PacingChoice = (typeof PACINGS)[number];

export const ARRIVAL_TYPES = ["trace", "uniform", "random", "poisson", "gamma"] as const;
export type ArrivalType = (typeof ARRIVAL_TYPES)[number];

export const OUTPUT_MODES = ["exact", "free"] as const;
export type OutputMode = (typeof OUTPUT_MODES)[number];

export interface PlanOptions {
  readonly pacing: PacingChoice;
  readonly arrival_type: ArrivalType;
  /** Requests/s (jobs/s where jobs start by time); `null` = as recorded. */
  readonly arrival_rate: PerSecond | null;
  readonly arrival_seed: number;
  /** Shape of the gamma gaps: 1 is Poisson, Infinity constant. */
  readonly burstiness: number;
  /** Stretch random gaps so that the last arrival is at (N−1)/rate. */
  readonly normalize: boolean;
  /** Divides recorded arrival times. */
  readonly speed: number;
  /** Multiplies think and tool times. */
  readonly think_scale: number;
  /** Caps them (after scaling); with `recorded` pacing, the idle gaps inside a job. */
  readonly max_gap_ms: Ms | null;
  /** Spreads arrivals that were quantised (Mooncake: 3 s) evenly over their step. */
  readonly spread: boolean;
  /** The first N entries after the arrival step. */
  readonly max_requests: number | null;
  readonly max_jobs: number | null;
  readonly input_tokens: Tokens | null;
  readonly output_tokens: Tokens | null;
  readonly output: OutputMode;
  /** Jobs at a time with `closed` pacing, else requests in flight. */
  readonly max_concurrency: number | null;
  /** Closed runs: each job of the trace this many times. */
  readonly copies: number;
  /** Closed runs: further copies, so that the jobs do not run out within this time; `null` = none. */
  readonly repeat_for_ms: Ms | null;
  /** Copies share their made-up text (and so their prefix cache) with the original. */
  readonly share_copies: boolean;
  /** What several jobs begin with (system prompts) is the same in all copies, whatever else they share. */
  readonly keep_common: boolean;
  /** Closed runs: the first N jobs start this far apart... */
  readonly stagger_ms: Ms;
  /** ...plus a uniform draw from [0, this). */
  readonly stagger_jitter_ms: Ms;
  readonly seed: number;
  /** Work out the optimal prefix hit rate of what is planned. */
  readonly optimal: boolean;
}

export const DEFAULT_PLAN_OPTIONS: PlanOptions = {
  pacing: "auto",
  arrival_type: "trace",
  arrival_rate: null,
  arrival_seed: 42,
  burstiness: 1,
  normalize: true,
  speed: 1,
  think_scale: 1,
  max_gap_ms: null,
  spread: false,
  max_requests: null,
  max_jobs: null,
  input_tokens: null,
  output_tokens: null,
  output: "exact",
  max_concurrency: null,
  copies: 1,
  repeat_for_ms: null,
  share_copies: false,
  keep_common: false,
  stagger_ms: 0,
  stagger_jitter_ms: 0,
  seed: 0,
  optimal: true,
};

/** Throws a `UserError` that names the flag. */
export function checkPlanOptions(options: PlanOptions): void {
  positive("--speed", options.speed);
  notNegative("--think-scale", options.think_scale);
  if (options.max_gap_ms !== null) notNegative("--max-gap", options.max_gap_ms);
  if (options.arrival_rate !== null) positive("--arrival-rate", options.arrival_rate, true);
  checkBurstiness(options.burstiness);
  wholePositive("--max-requests", options.max_requests);
  wholePositive("--max-jobs", options.max_jobs);
  wholePositive("--input-length", options.input_tokens);
  wholePositive("--output-length", options.output_tokens);
  wholePositive("--max-concurrency", options.max_concurrency);
  wholePositive("--copies", options.copies);
  notNegative("--stagger", options.stagger_ms);
  notNegative("--stagger-jitter", options.stagger_jitter_ms);
  if (options.arrival_rate !== null && options.speed !== 1) {
    throw new UserError("--arrival-rate and --speed contradict each other", {
      hint: "the rate sets the span of the arrivals, the speed scales the recorded one: give one of them",
    });
  }
  if (options.burstiness !== 1 && options.arrival_type !== "gamma") {
    throw new UserError(`--burstiness shapes gamma gaps; --arrival-type ${options.arrival_type} has none`, {
      hint: "use --arrival-type gamma",
    });
  }
  if (options.spread && options.arrival_type !== "trace") {
    throw new UserError(`--spread needs recorded arrivals, not --arrival-type ${options.arrival_type}`);
  }
}

/** Gamma shape of the gaps; refused unless > 0 (Infinity is constant gaps). */
export function checkBurstiness(burstiness: number): void {
  if (!(burstiness > 0)) {
    throw new UserError(`--burstiness: ${burstiness} is not greater than 0`, {
      hint: "1 is Poisson, below 1 burstier, above 1 more even, inf constant",
    });
  }
}

export function positive(flag: string, value: number, infinite = false): void {
  if (!(value > 0) || (!infinite && value === Infinity)) {
    throw new UserError(`${flag}: ${value} is not greater than 0`);
  }
}

function notNegative(flag: string, value: number): void {
  if (!(value >= 0) || value === Infinity) throw new UserError(`${flag}: ${value} is not 0 or more`);
}

export function wholePositive(flag: string, value: number | null): void {
  if (value !== null && !(Number.isSafeInteger(value) && value > 0)) {
    throw new UserError(`${flag}: ${value} is not a whole number above 0`);
  }
}
