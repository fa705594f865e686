/**
 * The run as it goes, on stderr: one calm block that is rewritten on a terminal, a plain line every few seconds elsewhere. It reads
 * counters and sketches of its own; the numbers of the reports come from the log.
 */
import type { Clock, Timer } from "../core/clock.ts";
import { formatDuration } from "../core/duration.ts";
import type { Ms } from "../core/units.ts";
import type { DispatchCounts } from "../dispatch/dispatch-env.ts";
import type { EndedRequest } from "./ended-request.ts";
import { type LiveNumbers, type LivePercentiles, LiveTally } from "./live-tally.ts";

const TTY_PERIOD_MS = 500;
const PLAIN_PERIOD_MS = 5000;
/** Lateness worth a word, ms. */
const LATE_MS = 5;

export interface ProgressOptions {
  readonly clock: Clock;
  readonly counts: DispatchCounts;
  /** On the clock. */
  readonly t0: Ms;
  /** When the last planned request is due, or the run is cut; `null` = not known. */
  readonly span_ms: Ms | null;
  readonly tty: boolean;
  readonly columns: number;
  /** What the plan says of a job, for job times; `null` = nothing. */
  readonly planned?: (jobId: string) => { readonly turns: number; readonly budget_ms: Ms | null } | null;
  write(text: string): void;
}

export interface Progress {
  onRecord(record: EndedRequest): void;
  /** Takes the block away for a moment, so that a warning can be written. */
  clear(): void;
  /** Takes the block away (terminal) or writes a last line. */
  stop(): void;
}

export function startProgress(options: ProgressOptions): Progress {
  const { clock, counts, t0, tty } = options;
  // A terminal that does not know its width says 0.
  const columns = options.columns > 0 ? options.columns : 80;
  const write = (text: string): void => options.write(text);
  const tally = new LiveTally(options.planned ?? ((): null => null));
  const period = tty ? TTY_PERIOD_MS : PLAIN_PERIOD_MS;
  let stopped = false;
  let timer: Timer;
  /** Lines of the block that stand on the terminal. */
  let standing = 0;
  const clear = (): void => {
    if (standing === 0) return;
    // To the first line of the block, then everything below it goes.
    write(`\r${standing > 1 ? `\u001b[${standing - 1}A` : ""}\u001b[J`);
    standing = 0;
  };
  const show = (): void => {
    const state = {
      counts,
      numbers: tally.numbers(clock.now() - t0),
      elapsed: clock.now() - t0,
      span: options.span_ms,
    };
    if (!tty) {
      write(`${progressLine(state)}\n`);
      return;
    }
    const lines = progressBlock(state, columns).map((line) => line.slice(0, Math.max(1, columns - 1)));
    // One write, so that nothing flickers: back to the top, each line cleared as it is written.
    const up = standing > 1 ? `\u001b[${standing - 1}A` : "";
    write(`${standing > 0 ? `\r${up}` : ""}${lines.map((line) => `\u001b[2K${line}`).join("\n")}\u001b[J`);
    standing = lines.length;
  };
  const tick = (): void => {
    if (stopped) return;
    show();
    timer = clock.at(clock.now() + period, tick);
  };
  timer = clock.at(clock.now() + period, tick);
  return {
    onRecord: (record) => tally.add(record),
    clear,
    stop() {
      if (stopped) return;
      stopped = true;
      clock.cancel(timer);
      if (tty) clear();
      else if (clock.now() - t0 >= PLAIN_PERIOD_MS) show();
    },
  };
}

interface ProgressState {
  readonly counts: DispatchCounts;
  readonly numbers: LiveNumbers;
  readonly elapsed: Ms;
  readonly span: Ms | null;
}

/** Four lines: how far, how fast, how it looks, what is wrong. */
export function progressBlock(state: ProgressState, columns: number): string[] {
  const { counts, numbers, elapsed } = state;
  const { planned, jobs, jobs_ended, in_flight } = counts;
  const ended = endedOf(counts);
  const share = planned === 0 ? 1 : ended / planned;
  const left = timeLeft(state);
  const width = Math.max(10, Math.min(30, columns - 50));
  const full = Math.round(share * width);
  const bar = `${"█".repeat(full)}${"░".repeat(width - full)}`;
  const lines = [
    `  ${bar}  ${Math.floor(share * 100)} %  ${formatDuration(Math.max(0, elapsed))}${left === null ? "" : `, about ${formatDuration(left)} left`}`,
    `  ${ended}/${planned} requests, ${jobs_ended}/${jobs} jobs; ${in_flight} in flight; ${rate(numbers.requests_per_s)} requests/s, ${rate(numbers.output_tokens_per_s)} tokens/s`,
    `  first token ${percentilesText(numbers.ttft)}${numbers.job_e2e === null ? "" : `; job ${percentilesText(numbers.job_e2e)}`}`,
  ];
  const trouble = troubleText(numbers);
  if (trouble !== "") lines.push(`  ${trouble}`);
  return lines;
}

function progressLine(state: ProgressState): string {
  const { counts, numbers, elapsed } = state;
  const left = timeLeft(state);
  return [
    formatDuration(Math.max(0, elapsed)),
    `${endedOf(counts)}/${counts.planned} requests`,
    `${counts.jobs_ended}/${counts.jobs} jobs`,
    `${counts.in_flight} in flight`,
    `${rate(numbers.requests_per_s)} req/s`,
    ...(numbers.ttft === null ? [] : [`TTFT ${percentilesText(numbers.ttft)}`]),
    ...(numbers.job_e2e === null ? [] : [`job ${percentilesText(numbers.job_e2e)}`]),
    ...(troubleText(numbers) === "" ? [] : [troubleText(numbers)]),
    ...(left === null ? [] : [`about ${formatDuration(left)} left`]),
  ].join("  ");
}

function endedOf({ ok, failed, skipped, cancelled }: DispatchCounts): number {
  return ok + failed + skipped + cancelled;
}

function percentilesText(of: LivePercentiles | null): string {
  return of === null ? "–" : `p50 ${formatDuration(of.p50)} p95 ${formatDuration(of.p95)}`;
}

/** Failures and lateness: empty while all is well. */
function troubleText({ failed, skipped, failures, lateness, jobs_over_budget: over }: LiveNumbers): string {
  const kinds = Object.entries(failures).map(([code, n]) => `${code} ${n}`);
  return [
    ...(failed > 0 ? [`${failed} failed (${kinds.join(", ")})`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ...(over !== null && over > 0 ? [`${over} jobs over budget`] : []),
    ...(lateness !== null && lateness.p99 > LATE_MS
      ? [`our own sends are late: p99 ${formatDuration(lateness.p99)}`]
      : []),
  ].join("; ");
}

function rate(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(1);
}

/** By the plan's time where requests are due by time, else by the share that has ended. */
function timeLeft({ counts, elapsed, span }: ProgressState): Ms | null {
  if (elapsed <= 0) return null;
  const ended = endedOf(counts);
  const byShare = ended === 0 ? null : (elapsed / ended) * (counts.planned - ended);
  const byTime = span === null ? null : span - elapsed;
  if (byTime !== null && byTime > 0) return byTime;
  return byShare;
}
