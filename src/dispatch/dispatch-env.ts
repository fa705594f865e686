/** What the dispatcher is given and what it gives back. */
import type { Client, PreparedRequest, StreamListener } from "../client/client.ts";
import type { Clock } from "../core/clock.ts";
import type { Ms } from "../core/units.ts";
import type { Plan, PlannedRequest } from "../plan/plan.ts";
import type { RequestRecord } from "../record/request-record.ts";
import type { HistoryTurn } from "./live-history.ts";
import type { Lookahead } from "./preparation.ts";
import type { RecordOptions } from "./record-of.ts";

export interface DispatchEnv {
  readonly clock: Clock;
  readonly client: Client;
  /**
   * Makes the body of a request, ahead of its time where that is known. `history` is `null` unless `history: "live"`
   * and the request has parents. A `UserError` or a system error makes the request `failed`; anything else ends the run.
   */
  prepare(
    planned: PlannedRequest,
    history: readonly HistoryTurn[] | null,
  ): PreparedRequest | Promise<PreparedRequest>;
  readonly history: "recorded" | "live";
  /** Called once for each request that was sent, skipped, or failed before it could be sent. A throw ends the run. */
  onRecord(record: RequestRecord, index: number): void;
  /** Told as a request is handed to the client: when it should have been sent, and its slot (NaN: no cap), from `t0`. */
  onSend?(index: number, intended: Ms, slot: Ms): void;
  readonly keep: RecordOptions;
  /** Told once, when the start instant has been chosen (before it is reached). */
  onStart?(start: RunStart): void;
  readonly listener?: StreamListener;
  readonly stop?: StopRule;
  /** How far ahead bodies are made. Default 2000 ms. */
  readonly lookaheadMs?: Ms;
  /** At most this many bodies (default 8192) and bytes (default 256 MiB) are held ready. */
  readonly lookaheadCount?: number;
  readonly lookaheadBytes?: number;
  /** From the first bodies being ready to `t0`. Default 50 ms. */
  readonly startDelayMs?: Ms;
  /** An agreed start instant (several lanes of one run), on this clock; wins over `startDelayMs` unless it has passed. */
  readonly startAt?: Ms;
  /**
   * Asked once the first bodies are ready: `t0`, on this clock. Wins over both; a `t0` that has passed is kept all the
   * same, so that a lane which is late shows as late and the lanes' times stay comparable.
   */
  agreeStart?(): Promise<Ms>;
}

export interface StopRule {
  /** From `t0`: nothing is sent at or after this instant. */
  readonly duration_ms: Ms;
  /** What is in flight then may end within this time; the rest is cancelled. Default 0. */
  readonly grace_ms?: Ms;
}

export interface RunStart {
  /** On the clock. */
  readonly t0: Ms;
  /** Unix ms. */
  readonly t0_wall_ms: Ms;
}

/** Live: read it whenever, e.g. for a progress line. */
export interface DispatchCounts {
  readonly planned: number;
  readonly sent: number;
  readonly in_flight: number;
  readonly ok: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly skipped: number;
  readonly jobs: number;
  readonly jobs_ended: number;
}

/** How far ahead bodies are made. */
export function lookaheadOf(env: DispatchEnv): Lookahead {
  return {
    ms: env.lookaheadMs ?? 2000,
    count: env.lookaheadCount ?? 8192,
    bytes: env.lookaheadBytes ?? 256 * 1024 * 1024,
  };
}

/** The counts before anything was sent. */
export function noneYet({ requests, jobs }: Plan): DispatchCounts {
  const none = { sent: 0, in_flight: 0, ok: 0, failed: 0, cancelled: 0, skipped: 0, jobs_ended: 0 };
  return { ...none, planned: requests.length, jobs: jobs.length };
}

export interface DispatchResult extends RunStart {
  /** The last end (for a run cut by its duration or by hand: not before that instant), from `t0`. */
  readonly ended_ms: Ms;
  /** From when on nothing more was sent, by the duration or by hand, from `t0`; `null` where all was. */
  readonly stopped_ms: Ms | null;
  /** Requests without a record: never sent because the run ended. */
  readonly not_sent: number;
  /** Those of them that were already due. */
  readonly overdue: number;
  /** `drain` or `abort` was called before everything had ended. */
  readonly interrupted: boolean;
}

export interface DispatchRun {
  /** Rejects only on a bug (of `prepare`, `onRecord`, the client or the plan), after everything was cut. */
  readonly done: Promise<DispatchResult>;
  readonly counts: DispatchCounts;
  /** SIGINT once: nothing more is sent; what is in flight may end within the grace, then it is cancelled. */
  drain(graceMs?: Ms): void;
  /** SIGINT twice: everything is cancelled now; `done` settles within a second. */
  abort(): void;
}
