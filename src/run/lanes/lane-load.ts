/**
 * A run's load in several lanes. Whole jobs stay in one lane; the lanes agree on the start instant when the bodies of all
 * are ready; their records come back as lines of the log. A lane that dies makes the run degraded: what it had in flight
 * is recorded as cancelled, the rest counted as not sent, and the other lanes go on.
 */
import { monotonicOffset } from "../../core/clock-anchor.ts";
import type { Timer } from "../../core/clock.ts";
import { secrets } from "../../core/secret.ts";
import type { Ms } from "../../core/units.ts";
import type { DispatchCounts, RunStart } from "../../dispatch/dispatch-env.ts";
import { splitPlan } from "../../plan/split-plan.ts";
import type { GeneratorHealth, LaneHealth } from "../../record/manifest.ts";
import type { Load, LoadEvents, LoadOptions, LoadResult } from "../load.ts";
import { Lane } from "./lane.ts";
import { COUNTS, type LaneSpec } from "./lane-messages.ts";

/** From the last lane being ready to `t0`. */
const START_DELAY_MS = 50;
/** A lane that has not ended so long after it was told to is given up. */
const PATIENCE_MS = 5000;
const DEFAULT_GRACE_MS = 5000;

export interface LaneLoadOptions extends LoadOptions {
  readonly lanes: number;
  readonly spec: LaneSpec;
  /** The bundle that a lane runs (lane-entry.ts). */
  readonly entry: URL;
}

export function startLaneLoad(options: LaneLoadOptions, events: LoadEvents): Load {
  return new LaneLoad(options, events);
}

class LaneLoad implements Load {
  readonly done: Promise<LoadResult>;
  readonly counts: DispatchCounts;
  readonly lanes: readonly Lane[];
  readonly #options: LaneLoadOptions;
  readonly #events: LoadEvents;
  #resolve!: (result: LoadResult) => void;
  #reject!: (error: unknown) => void;
  #ready = 0;
  #start: RunStart | null = null;
  /** When the thread of a lost lane ended, from `t0`. */
  readonly #lostAt = new Map<Lane, Ms>();
  #interrupted = false;
  #giveUp: Timer | null = null;
  #settled = false;

  constructor(options: LaneLoadOptions, events: LoadEvents) {
    const { plan, entry, spec, history, keepChunks, saveText, stop } = options;
    this.#options = options;
    this.#events = events;
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const start = { spec, history, keepChunks, saveText, stop, secrets: secrets.list() };
    this.lanes = splitPlan(plan, options.lanes).map((part) => {
      const lane: Lane = new Lane(entry, part, start, {
        onReady: () => this.#onReady(),
        onRecords: (lines, ended) => events.onLines(lines, ended),
        onOver: () => this.#onOver(lane),
        onBug: (error) => this.#crash(error),
      });
      return lane;
    });
    this.counts = this.#countsOf(plan.requests.length, plan.jobs.length);
  }

  drain(graceMs?: Ms): void {
    this.#interrupted = true;
    this.#tell({ type: "drain", graceMs: graceMs ?? null }, graceMs ?? DEFAULT_GRACE_MS);
  }

  abort(): void {
    this.#interrupted = true;
    this.#tell({ type: "abort" }, 0);
  }

  #tell(order: { type: "drain"; graceMs: Ms | null } | { type: "abort" }, grace: Ms): void {
    for (const lane of this.lanes) if (!lane.over) lane.tell(order);
    const { clock } = this.#options.target;
    if (this.#giveUp !== null) clock.cancel(this.#giveUp);
    this.#giveUp = clock.at(clock.now() + grace + PATIENCE_MS, () => {
      for (const lane of this.lanes) if (!lane.over) lane.kill("it did not end when told to");
    });
  }

  #onReady(): void {
    this.#ready++;
    if (this.#ready < this.lanes.length) return;
    const { clock } = this.#options.target;
    const t0 = clock.now() + START_DELAY_MS;
    this.#start = { t0, t0_wall_ms: clock.wall() + START_DELAY_MS };
    const monotonic_ms = t0 + monotonicOffset();
    for (const lane of this.lanes) lane.tell({ type: "start", monotonic_ms });
    this.#events.onStart(this.#start);
  }

  #onOver(lane: Lane): void {
    if (this.#settled) return;
    const lost = lane.lost;
    if (lost !== null && this.#start === null && !this.#interrupted) {
      this.#crash(new Error(`a lane of load did not start: ${lost}`));
      return;
    }
    if (lost !== null) {
      const end = this.#now();
      this.#lostAt.set(lane, end);
      for (const record of lane.cutRecords(end)) this.#events.onRecord(record);
    }
    if (this.lanes.every((one) => one.over)) this.#finish();
  }

  #now(): Ms {
    return this.#start === null ? 0 : Math.max(0, this.#options.target.clock.now() - this.#start.t0);
  }

  #finish(): void {
    this.#settle();
    const { clock } = this.#options.target;
    const outcomes = this.lanes.flatMap((lane) => lane.outcome ?? []);
    const ended = Math.max(0, ...outcomes.map(({ result }) => result.ended_ms), ...this.#lostAt.values());
    let notSent = sum(outcomes.map(({ result }) => result.not_sent));
    let overdue = sum(outcomes.map(({ result }) => result.overdue));
    const degraded: string[] = [];
    this.lanes.forEach((lane, position) => {
      const at = this.#lostAt.get(lane);
      if (at === undefined) return;
      const left = lane.unsent(ended);
      notSent += left.not_sent;
      overdue += left.overdue;
      degraded.push(
        `lane ${position + 1} of ${this.lanes.length} was lost after ${(at / 1000).toFixed(1)} s (${lane.lost ?? ""}): ${left.not_sent} requests were not sent`,
      );
    });
    const duplicates = outcomes.flatMap(({ warmupDuplicates }) => warmupDuplicates ?? []);
    const lanes = this.lanes.map((lane) => lane.health());
    this.#resolve({
      t0: this.#start?.t0 ?? clock.now(),
      t0_wall_ms: this.#start?.t0_wall_ms ?? clock.wall(),
      ended_ms: ended,
      stopped_ms: earliest(outcomes.map(({ result }) => result.stopped_ms)),
      not_sent: notSent,
      overdue,
      interrupted: this.#interrupted,
      health: worstOf(lanes),
      lanes,
      degraded,
      warmupDuplicates: duplicates.length === 0 ? null : sum(duplicates),
    });
  }

  /** A bug: everything is cut, and the run ends loudly. */
  #crash(error: Error): void {
    if (this.#settled) return;
    this.#settle();
    for (const lane of this.lanes) lane.kill("the run failed");
    this.#reject(error);
  }

  #settle(): void {
    this.#settled = true;
    if (this.#giveUp !== null) this.#options.target.clock.cancel(this.#giveUp);
  }

  #countsOf(planned: number, jobs: number): DispatchCounts {
    const counts = { planned, jobs };
    for (const name of COUNTS)
      Object.defineProperty(counts, name, {
        enumerable: true,
        get: () => sum(this.lanes.map((lane) => lane.count(name))),
      });
    return counts as DispatchCounts;
  }
}

/** Each figure of the lane that fared worst: one bad lane spoils the times of its requests. */
export function worstOf(lanes: readonly LaneHealth[]): GeneratorHealth {
  const worst = (read: (health: GeneratorHealth) => number | null | undefined): number | null => {
    const values = lanes.flatMap((lane) => read(lane) ?? []);
    return values.length === 0 ? null : Math.max(...values);
  };
  return {
    loop_stall_p99_ms: worst((health) => health.loop_stall_p99_ms),
    loop_stall_max_ms: worst((health) => health.loop_stall_max_ms),
    loop_stall_streaming_max_ms: worst((health) => health.loop_stall_streaming_max_ms),
    cpu_share: worst((health) => health.cpu_share),
    loop_utilisation: worst((health) => health.loop_utilisation),
    core_wait_share: worst((health) => health.core_wait_share),
    gc_max_ms: worst((health) => health.gc_max_ms),
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** `null` where no lane was stopped. */
function earliest(times: readonly (Ms | null)[]): Ms | null {
  const known = times.filter((at) => at !== null);
  return known.length === 0 ? null : Math.min(...known);
}
