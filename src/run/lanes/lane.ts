/** One lane as the main thread sees it: its thread, what it was given, what has come back, and what is left when it dies. */
import { Worker } from "node:worker_threads";
import type { Ms } from "../../core/units.ts";
import type { DispatchResult } from "../../dispatch/dispatch-env.ts";
import { dispatchedOf, unsentRecord } from "../../dispatch/record-of.ts";
import type { PlanPart } from "../../plan/split-plan.ts";
import type { GeneratorHealth, LaneHealth } from "../../record/manifest.ts";
import type { RequestRecord } from "../../record/request-record.ts";
import type { EndedRequest } from "../ended-request.ts";
import { NO_HEALTH } from "../load.ts";
import {
  COUNTS,
  type FromLane,
  HELD_BACK,
  type LaneShared,
  type LaneStart,
  OVER,
  SENT,
  sharedOf,
  TAKEN,
  type ToLane,
} from "./lane-messages.ts";

export interface LaneEvents {
  onReady(): void;
  onRecords(lines: string, ended: readonly EndedRequest[]): void;
  /** The lane is over: done, or lost. Nothing more comes from it. */
  onOver(): void;
  onBug(error: Error): void;
}

/** What a lane that is over has to say. */
export interface LaneOutcome {
  readonly result: Omit<DispatchResult, "t0" | "t0_wall_ms">;
  readonly health: GeneratorHealth;
  readonly warmupDuplicates: number | null;
}

export class Lane {
  readonly #part: PlanPart;
  readonly #shared: LaneShared;
  readonly #events: LaneEvents;
  readonly #worker: Worker;
  #outcome: LaneOutcome | null = null;
  #lost: string | null = null;
  #over = false;
  #failed: string | null = null;

  constructor(entry: URL, part: PlanPart, start: Omit<LaneStart, "plan" | "shared">, events: LaneEvents) {
    this.#part = part;
    this.#events = events;
    this.#shared = sharedOf(part.plan.requests.length);
    const workerData: LaneStart = { ...start, plan: part.plan, shared: this.#shared };
    this.#worker = new Worker(entry, { workerData });
    this.#worker.on("message", (message: FromLane) => this.#take(message));
    this.#worker.on("error", (error: Error) => {
      this.#failed = error.message;
    });
    this.#worker.on("exit", (code) => this.#gone(code));
  }

  /** `null` while it runs, and for a lane that was lost. */
  get outcome(): LaneOutcome | null {
    return this.#outcome;
  }

  /** Why it was lost; `null` = it was not. */
  get lost(): string | null {
    return this.#lost;
  }

  get over(): boolean {
    return this.#over;
  }

  count(name: (typeof COUNTS)[number]): number {
    return this.#shared.counts[COUNTS.indexOf(name)] as number;
  }

  tell(order: ToLane): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#worker.postMessage(order);
  }

  /** Ends the thread, whatever it does. */
  kill(reason: string): void {
    this.#failed ??= reason;
    void this.#worker.terminate();
  }

  /** Requests that were handed to the client of a lost lane and whose answers died with it, cut at `end` (from `t0`). */
  cutRecords(end: Ms): RequestRecord[] {
    const { state, times } = this.#shared;
    const records: RequestRecord[] = [];
    for (let index = 0; index < state.length; index++) {
      if (state[index] !== SENT) continue;
      const [intended, slot, sent] = times.subarray(3 * index, 3 * index + 3) as unknown as [Ms, Ms, Ms];
      const at = { intended: oneAt(index, intended), slot: oneAt(index, slot) };
      const failure = {
        code: "aborted" as const,
        message: "the lane that sent it was lost",
        http_status: null,
      };
      const dispatched = dispatchedOf(this.#part.plan, index, at);
      records.push({
        ...unsentRecord(dispatched, "cancelled", failure, Math.max(end, sent)),
        sent_ms: sent,
        attempts: 1,
        notes: ["sent_ms is the instant it was handed to the client: the lane that knew more was lost"],
      });
      state[index] = OVER;
      this.#shared.counts[COUNTS.indexOf("cancelled")] = this.count("cancelled") + 1;
    }
    this.#shared.counts[COUNTS.indexOf("in_flight")] = 0;
    return records;
  }

  /** Requests of a lost lane without a record, and those of them that were due before `end`. After {@link cutRecords}. */
  unsent(end: Ms): { readonly not_sent: number; readonly overdue: number } {
    let notSent = 0;
    let overdue = 0;
    for (const { index, release } of this.#part.plan.requests) {
      if (this.#shared.state[index] === OVER) continue;
      notSent++;
      if (release.kind === "at" && release.offset_ms < end) overdue++;
    }
    return { not_sent: notSent, overdue };
  }

  health(): LaneHealth {
    return {
      ...(this.#outcome?.health ?? NO_HEALTH),
      requests: this.#part.plan.requests.length,
      jobs: this.#part.plan.jobs.length,
      lost: this.#lost,
    };
  }

  #take(message: FromLane): void {
    switch (message.type) {
      case "ready":
        this.#events.onReady();
        break;
      case "records":
        this.#events.onRecords(message.lines, message.ended);
        Atomics.add(this.#shared.window, TAKEN, message.ended.length);
        if (Atomics.exchange(this.#shared.window, HELD_BACK, 0) === 1) this.tell({ type: "more" });
        break;
      case "done":
        this.#outcome = message;
        break;
      case "bug":
        this.#over = true;
        this.#events.onBug(new Error(`a lane of load failed: ${message.text}`));
        break;
    }
  }

  /** The thread is gone; all it had posted has been taken before this. */
  #gone(code: number): void {
    if (this.#over) return;
    this.#over = true;
    if (this.#outcome === null) this.#lost = this.#failed ?? `its thread ended with code ${code}`;
    this.#events.onOver();
  }
}

/** A sparse array with one value, for whoever looks at one index. */
function oneAt(index: number, value: Ms): Float64Array {
  return { [index]: value } as unknown as Float64Array;
}
