/**
 * The run as it goes, on stderr: one line that is rewritten on a terminal, a plain line every few seconds elsewhere. It reads
 * counters and sketches of its own; the numbers of the reports come from the log.
 */
import { createHistogram, type RecordableHistogram } from "node:perf_hooks";
import type { Clock, Timer } from "../core/clock.ts";
import { formatDuration } from "../core/duration.ts";
import type { Ms } from "../core/units.ts";
import type { DispatchCounts } from "../dispatch/dispatch-env.ts";
import type { EndedRequest } from "./ended-request.ts";

const TTY_PERIOD_MS = 250;
const PLAIN_PERIOD_MS = 5000;

export interface ProgressOptions {
  readonly clock: Clock;
  readonly counts: DispatchCounts;
  /** On the clock. */
  readonly t0: Ms;
  /** When the last planned request is due, or the run is cut; `null` = not known. */
  readonly span_ms: Ms | null;
  readonly tty: boolean;
  readonly columns: number;
  write(text: string): void;
}

export interface Progress {
  onRecord(record: EndedRequest): void;
  /** Takes the line away for a moment, so that a warning can be written. */
  clear(): void;
  /** Takes the line away (terminal) or writes a last one. */
  stop(): void;
}

export function startProgress(options: ProgressOptions): Progress {
  const { clock, counts, t0, tty, write } = options;
  const ttft = createHistogram();
  const period = tty ? TTY_PERIOD_MS : PLAIN_PERIOD_MS;
  let late = 0;
  let stopped = false;
  let timer: Timer;
  const show = (): void => {
    const line = progressLine(counts, clock.now() - t0, options.span_ms, ttft, late);
    write(tty ? `\r\u001b[2K${line.slice(0, options.columns - 1)}` : `${line}\n`);
  };
  const tick = (): void => {
    if (stopped) return;
    show();
    timer = clock.at(clock.now() + period, tick);
  };
  timer = clock.at(clock.now() + period, tick);
  return {
    onRecord(record) {
      if (record.status !== "ok" || record.sent_ms === null) return;
      if (record.first_token_ms !== null) ttft.record(microseconds(record.first_token_ms - record.sent_ms));
      const due = Math.max(record.intended_ms ?? 0, record.slot_ms ?? 0);
      late = Math.max(late, record.sent_ms - record.connect_ms - due);
    },
    clear() {
      if (tty) write("\r\u001b[2K");
    },
    stop() {
      stopped = true;
      clock.cancel(timer);
      if (tty) write("\r\u001b[2K");
    },
  };
}

/** Histograms take whole numbers above 0. */
function microseconds(ms: Ms): number {
  return Math.max(1, Math.round(ms * 1000));
}

function progressLine(
  counts: DispatchCounts,
  elapsed: Ms,
  span: Ms | null,
  ttft: RecordableHistogram,
  late: Ms,
): string {
  const { planned, ok, failed, skipped, cancelled, in_flight, jobs, jobs_ended } = counts;
  const ended = ok + failed + skipped + cancelled;
  const left = timeLeft(elapsed, ended, planned, span);
  const parts = [
    formatDuration(Math.max(0, elapsed)),
    `${ended}/${planned} requests`,
    `${jobs_ended}/${jobs} jobs`,
    `${in_flight} in flight`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ...(elapsed > 0 ? [`${((ok * 1000) / elapsed).toFixed(1)} req/s`] : []),
    ...(ttft.count > 0
      ? [
          `TTFT p50 ${formatDuration(ttft.percentile(50) / 1000)} p95 ${formatDuration(ttft.percentile(95) / 1000)}`,
        ]
      : []),
    ...(late > 5 ? [`late ${formatDuration(late)}`] : []),
    ...(left === null ? [] : [`about ${formatDuration(left)} left`]),
  ];
  return parts.join("  ");
}

/** By the plan's time where requests are due by time, else by the share that has ended. */
function timeLeft(elapsed: Ms, ended: number, planned: number, span: Ms | null): Ms | null {
  if (elapsed <= 0) return null;
  const byShare = ended === 0 ? null : (elapsed / ended) * (planned - ended);
  const byTime = span === null ? null : span - elapsed;
  if (byTime !== null && byTime > 0) return byTime;
  return byShare;
}
