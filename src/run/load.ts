/** The plan being carried out: in this thread, or in lanes (lanes/lane-load.ts). One shape for both. */
import type { Clock } from "../core/clock.ts";
import { startLoopMonitor } from "../core/loop-monitor.ts";
import type { Ms } from "../core/units.ts";
import { dispatch } from "../dispatch/dispatch.ts";
import type { DispatchCounts, DispatchResult, RunStart, StopRule } from "../dispatch/dispatch-env.ts";
import type { PreparedRequest } from "../client/client.ts";
import type { Plan, PlannedRequest } from "../plan/plan.ts";
import type { LiveAnswer } from "../prompt/live-history.ts";
import type { GeneratorHealth, LaneHealth } from "../record/manifest.ts";
import type { RequestRecord } from "../record/request-record.ts";
import type { EndedRequest } from "./ended-request.ts";
import { liveAnswers } from "./live-answers.ts";
import type { Target } from "./target.ts";

export interface LoadOptions {
  readonly plan: Plan;
  readonly target: Target;
  readonly history: "recorded" | "live";
  readonly keepChunks: boolean;
  readonly saveText: boolean;
  readonly stop: StopRule | null;
}

/** Told as the load goes. */
export interface LoadEvents {
  onStart(start: RunStart): void;
  onRecord(record: RequestRecord): void;
  /** Lines of the log that another thread has made, and what they say in short, in their order. */
  onLines(lines: string, ended: readonly EndedRequest[]): void;
}

export interface LoadResult extends DispatchResult {
  readonly health: GeneratorHealth;
  /** `null` = all was sent from this thread. */
  readonly lanes: readonly LaneHealth[] | null;
  /** What was lost on the way. */
  readonly degraded: readonly string[];
  readonly warmupDuplicates: number | null;
}

export interface Load {
  readonly done: Promise<LoadResult>;
  readonly counts: DispatchCounts;
  drain(graceMs?: number): void;
  abort(): void;
}

/** In this thread, with the target's own client. */
export function startLocalLoad(
  options: LoadOptions & {
    prepare(planned: PlannedRequest, history: readonly LiveAnswer[] | null): PreparedRequest;
    warmupDuplicates?(): number | null;
  },
  events: LoadEvents,
): Load {
  const { plan, target } = options;
  const monitor = startLoopMonitor(() => target.openStreams());
  const run = dispatch(plan, {
    clock: target.clock,
    client: target.client,
    prepare: (planned, history) => options.prepare(planned, liveAnswers(history, plan)),
    history: options.history,
    keep: { keepChunks: options.keepChunks, keepText: options.saveText },
    onRecord: (record) => events.onRecord(record),
    onStart: (start) => events.onStart(start),
    ...(target.connect === undefined ? {} : { agreeStart: () => startSoon(target) }),
    ...(options.stop === null ? {} : { stop: options.stop }),
  });
  return {
    counts: run.counts,
    drain: (graceMs) => run.drain(graceMs),
    abort: () => run.abort(),
    done: run.done
      .then((result) => ({
        ...result,
        // On virtual time the process's own stalls say nothing of the run.
        health: target.virtual ? NO_HEALTH : monitor.read(),
        lanes: null,
        degraded: [],
        warmupDuplicates: options.warmupDuplicates?.() ?? null,
      }))
      .finally(() => monitor.stop()),
  };
}

/** From everything being ready to `t0`. */
const START_DELAY_MS = 50;
/** A connection that takes longer is opened when the first request is due. */
const CONNECT_MS = 1000;

async function startSoon(target: Target): Promise<Ms> {
  const { clock } = target;
  await within(clock, CONNECT_MS, target.connect?.());
  return clock.now() + START_DELAY_MS;
}

/** Waits for `done`, but not longer than `limit`. */
export async function within(clock: Clock, limit: Ms, done: Promise<unknown> | undefined): Promise<void> {
  if (done === undefined) return;
  await new Promise<void>((resolve) => {
    const timer = clock.at(clock.now() + limit, resolve);
    void done.then(() => {
      clock.cancel(timer);
      resolve();
    });
  });
}

export const NO_HEALTH: GeneratorHealth = {
  loop_stall_p99_ms: null,
  loop_stall_max_ms: null,
  loop_stall_streaming_max_ms: null,
  cpu_share: null,
  loop_utilisation: null,
  core_wait_share: null,
  gc_max_ms: null,
};
