/**
 * Executes a plan: what Admission lets go is claimed from Preparation and handed to the client; what ends releases its
 * children, or skips its descendants if it failed. All state belongs to one run (lanes run several side by side).
 */
import type { InFlight, PreparedRequest } from "../client/client.ts";
import { sleep, type Timer } from "../core/clock.ts";
import type { Failure } from "../core/failure.ts";
import type { Ms } from "../core/units.ts";
import type { Plan, PlannedRequest } from "../plan/plan.ts";
import { scheduleAt } from "../plan/planned-requests.ts";
import type { Observation } from "../record/observation.ts";
import type { RequestRecord } from "../record/request-record.ts";
import { Admission } from "./admission.ts";
import { Dependencies } from "./dependencies.ts";
import {
  type DispatchCounts,
  type DispatchEnv,
  type DispatchResult,
  type DispatchRun,
  lookaheadOf,
  noneYet,
} from "./dispatch-env.ts";
import { LiveHistory } from "./live-history.ts";
import { type Claim, Preparation, preparationFailure } from "./preparation.ts";
import { type Dispatched, dispatchedOf, recordOf, unsentRecord } from "./record-of.ts";

const START_DELAY_MS = 50;
/** After this many sends in a row, or this long, the loop gets a turn: answers to the first must not wait for the last. */
const BURST = 64;
const BURST_MS = 10;
/** A client that does not report a cancelled exchange within this time is not waited for. */
const FORCE_MS = 500;
export const DRAIN_GRACE_MS = 5000;

/** A request's state: 0 = not begun; claimed, its body still being made; in flight; over (it has a record). */
const HELD = 1;
const IN_FLIGHT = 2;
const OVER = 3;

type Phase = "preparing" | "running" | "stopping" | "over";

export class Dispatcher {
  readonly #plan: Plan;
  readonly #env: DispatchEnv;
  readonly #dependencies: Dependencies;
  readonly #admission: Admission;
  readonly #preparation: Preparation;
  readonly #history: LiveHistory | null;
  readonly #state: Uint8Array;
  readonly #flights = new Map<number, InFlight>();
  readonly #counts: Mutable<DispatchCounts>;
  readonly #result: Promise<DispatchResult>;
  #resolve!: (result: DispatchResult) => void;
  #reject!: (error: unknown) => void;
  #phase: Phase = "preparing";
  #t0: Ms | null = null;
  #t0Wall: Ms = 0;
  #timer: Timer | null = null;
  #stopTimer: Timer | null = null;
  #cancelTimer: Timer | null = null;
  /** The due of the timer that fired last: with rounding, now − t0 can fall short of it. */
  #reached: Ms = -Infinity;
  #pumping = false;
  #over = 0;
  #lastEnd: Ms = 0;
  #stoppedAt: Ms | null = null;
  #interrupted = false;
  #cancelling = false;
  #concluding = false;

  constructor(plan: Plan, env: DispatchEnv) {
    this.#plan = plan;
    this.#env = env;
    this.#dependencies = new Dependencies(plan);
    this.#admission = new Admission(plan);
    this.#history = env.history === "live" ? new LiveHistory(plan) : null;
    this.#state = new Uint8Array(plan.requests.length);
    this.#counts = noneYet(plan);
    this.#preparation = new Preparation(plan, {
      clock: env.clock,
      lookahead: lookaheadOf(env),
      prepare: (index) => this.#prepare(index),
      onReady: (index, claim) => this.#onReady(index, claim),
      onBug: (error) => this.#crash(error),
      nextSend: () => (this.#t0 ?? 0) + this.#admission.nextDue(),
    });
    this.#result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  start(): DispatchRun {
    this.#begin().catch((error: unknown) => this.#crash(error));
    return {
      done: this.#result,
      counts: this.#counts,
      drain: (graceMs = DRAIN_GRACE_MS) => this.#interrupt(graceMs),
      abort: () => this.#interrupt(0),
    };
  }

  async #begin(): Promise<void> {
    const { clock, stop } = this.#env;
    this.#expectUpcoming();
    await this.#preparation.first(() => sleep(clock, 0));
    if (this.#phase !== "preparing") return;
    const agreed = await this.#env.agreeStart?.();
    // oxlint-disable-next-line typescript/no-unnecessary-condition -- it may have changed while we waited
    if (this.#phase !== "preparing") return;
    const t0 = agreed ?? this.#ownStart();
    this.#t0 = t0;
    this.#t0Wall = clock.wall() + (t0 - clock.now());
    this.#phase = "running";
    this.#env.onStart?.({ t0, t0_wall_ms: this.#t0Wall });
    if (stop !== undefined) {
      this.#stopTimer = clock.at(t0 + stop.duration_ms, () =>
        this.#stop(stop.duration_ms, stop.grace_ms ?? 0),
      );
    }
    this.#preparation.start(t0);
    this.#timer = clock.at(t0, () => this.#onTimer(0));
    this.#finishIfOver();
  }

  #ownStart(): Ms {
    const { clock, startAt, startDelayMs = START_DELAY_MS } = this.#env;
    return startAt === undefined ? clock.now() + startDelayMs : Math.max(startAt, clock.now());
  }

  #now(): Ms {
    return Math.max(this.#env.clock.now() - (this.#t0 as Ms), this.#reached);
  }

  #onTimer(due: Ms): void {
    this.#timer = null;
    this.#reached = Math.max(this.#reached, due);
    this.#pump();
  }

  /** Sends everything that may go now, then waits for the next instant. */
  #pump(): void {
    if (this.#pumping || this.#phase !== "running" || this.#t0 === null) return;
    if (this.#now() < 0) return;
    this.#pumping = true;
    try {
      const begun = this.#now();
      for (let sent = 0; this.#phase === "running"; sent++) {
        const now = this.#now();
        if (sent === BURST || now - begun > BURST_MS) {
          this.#arm(now);
          return;
        }
        const index = this.#admission.next(now);
        if (index === -1) break;
        this.#go(index);
      }
      this.#arm(this.#admission.nextDue());
    } finally {
      this.#pumping = false;
    }
  }

  #arm(due: Ms): void {
    if (this.#phase !== "running" || this.#t0 === null) return;
    if (this.#timer !== null) {
      if (this.#timer.due === this.#t0 + due) return;
      this.#env.clock.cancel(this.#timer);
      this.#timer = null;
    }
    if (due !== Infinity) this.#timer = this.#env.clock.at(this.#t0 + due, () => this.#onTimer(due));
  }

  /** Sends what may go at the loop's next turn. */
  #yield(): void {
    if (this.#t0 === null) return;
    const now = this.#now();
    if (this.#timer === null || this.#timer.due > this.#t0 + now) this.#arm(now);
  }

  #go(index: number): void {
    this.#state[index] = HELD;
    const claim = this.#preparation.claim(index);
    this.#expectUpcoming();
    if (claim !== null) this.#sendClaim(index, claim);
  }

  #onReady(index: number, claim: Claim): void {
    if (this.#phase === "running" && this.#state[index] === HELD) this.#sendClaim(index, claim);
    else if (this.#phase === "stopping") this.#finishIfOver();
  }

  #sendClaim(index: number, claim: Claim): void {
    if ("failure" in claim) this.#failUnsent(index, claim.failure);
    else this.#send(index, claim.prepared);
  }

  #send(index: number, prepared: PreparedRequest): void {
    let flight: InFlight;
    try {
      flight = this.#env.client.send(prepared, (seen) => this.#onDone(index, seen), this.#env.listener);
    } catch (error) {
      const failure = preparationFailure(error);
      if (failure === null) this.#crash(error);
      else this.#failUnsent(index, failure);
      return;
    }
    this.#state[index] = IN_FLIGHT;
    this.#flights.set(index, flight);
    this.#counts.sent++;
    this.#counts.in_flight++;
    const { intended, slot } = this.#admission;
    this.#env.onSend?.(index, intended[index] as Ms, slot[index] as Ms);
    if (this.#history !== null) return;
    const now = this.#now();
    this.#dependencies.sent(index, (child, think) => this.#preparation.expect(child, now + think, true));
  }

  #onDone(index: number, seen: Observation): void {
    if (this.#phase === "over" || this.#state[index] === OVER) return;
    this.#flights.delete(index);
    this.#counts.in_flight--;
    const t0 = this.#t0 as Ms;
    const cut = this.#cancelling && seen.failure?.code === "aborted";
    const status = seen.failure === null ? "ok" : cut ? "cancelled" : "failed";
    if (status === "ok") this.#history?.add(this.#request(index), seen);
    this.#conclude(
      index,
      recordOf(this.#dispatched(index), status, seen, t0, this.#env.keep),
      seen.end_ms - t0,
    );
  }

  /** It was its turn, but it could not be sent: failed here, at the client. */
  #failUnsent(index: number, failure: Failure): void {
    const end = Math.max(this.#now(), this.#admission.intended[index] as Ms);
    this.#conclude(index, unsentRecord(this.#dispatched(index), "failed", failure, end), end);
  }

  /** A request is over, at `end` (from t0): record, children, slots, job; then whatever may go next. */
  #conclude(index: number, record: RequestRecord, end: Ms): void {
    this.#state[index] = OVER;
    this.#over++;
    this.#lastEnd = Math.max(this.#lastEnd, end);
    // Whoever gets the record may stop the run: it ends when this end has been dealt with in full.
    this.#concluding = true;
    this.#emit(record, index);
    if (record.status === "ok") this.#releaseChildren(index, end);
    else if (record.status === "failed") this.#skipDescendants(index, end);
    this.#admission.ended(end);
    this.#leaveJob(index, end);
    this.#concluding = false;
    // Where sends fail at once (no ports left), what they make room for waits for the loop's next turn: no end of it otherwise.
    if (record.status === "failed") this.#yield();
    else this.#pump();
    this.#finishIfOver();
  }

  #releaseChildren(index: number, end: Ms): void {
    this.#dependencies.ended(index, end, (child, intended) => {
      this.#admission.release(child, intended);
      this.#preparation.expect(child, intended);
    });
  }

  #skipDescendants(index: number, end: Ms): void {
    const begun = (descendant: number): boolean => this.#state[descendant] !== 0;
    this.#dependencies.failed(index, end, begun, (descendant, intended) => {
      if (intended !== null) this.#admission.intended[descendant] = intended;
      this.#state[descendant] = OVER;
      this.#over++;
      this.#preparation.drop(descendant);
      this.#admission.withdraw(descendant);
      this.#emit(unsentRecord(this.#dispatched(descendant), "skipped", null, null), descendant);
      this.#leaveJob(descendant, end);
    });
  }

  #leaveJob(index: number, at: Ms): void {
    const { job } = scheduleAt(this.#plan.requests, index);
    if (!this.#dependencies.leave(job)) return;
    this.#counts.jobs_ended++;
    this.#history?.forget(job);
    this.#admission.jobEnded(job, at);
  }

  #interrupt(graceMs: Ms): void {
    if (this.#phase === "over") return;
    this.#interrupted = true;
    this.#stop(this.#t0 === null ? 0 : Math.max(this.#now(), 0), graceMs);
  }

  /** Nothing more is sent from `at` (from t0) on; what is in flight has `grace` to end. */
  #stop(at: Ms, grace: Ms): void {
    const { clock } = this.#env;
    if (this.#phase !== "stopping") {
      this.#phase = "stopping";
      this.#stoppedAt = at;
      for (const timer of [this.#timer, this.#stopTimer]) if (timer !== null) clock.cancel(timer);
      this.#preparation.close();
    }
    const due = clock.now() + grace;
    if (this.#cancelTimer !== null) {
      if (this.#cancelTimer.due <= due) return;
      clock.cancel(this.#cancelTimer);
    }
    // A timer even without grace: an answer that ends at this very instant has ended.
    this.#cancelTimer = clock.at(due, () => this.#cancelAll());
    this.#finishIfOver();
  }

  #cancelAll(): void {
    if (this.#phase === "over" || this.#cancelling) return;
    this.#cancelling = true;
    for (const flight of this.#flights.values()) flight.cancel("aborted", "the run ended");
    this.#cancelTimer = this.#env.clock.at(this.#env.clock.now() + FORCE_MS, () => this.#giveUp());
    this.#finishIfOver();
  }

  /** The client keeps silent about what it was told to cancel: the run ends all the same. */
  #giveUp(): void {
    for (const index of this.#flights.keys()) {
      this.#flights.delete(index);
      this.#counts.in_flight--;
      const failure: Failure = { code: "aborted", message: "the run ended", http_status: null };
      const end = this.#now();
      this.#conclude(index, unsentRecord(this.#dispatched(index), "cancelled", failure, end), end);
    }
  }

  #finishIfOver(): void {
    if (this.#phase === "over" || this.#concluding) return;
    const all = this.#over === this.#plan.requests.length;
    if (!all && (this.#phase !== "stopping" || this.#flights.size > 0)) return;
    if (all && this.#phase === "preparing") return;
    const stoppedAt = this.#stoppedAt;
    this.#close();
    this.#resolve({
      t0: this.#t0 ?? this.#env.clock.now(),
      t0_wall_ms: this.#t0 === null ? this.#env.clock.wall() : this.#t0Wall,
      ended_ms: stoppedAt === null ? this.#lastEnd : Math.max(this.#lastEnd, stoppedAt),
      stopped_ms: stoppedAt,
      not_sent: this.#plan.requests.length - this.#over,
      overdue: stoppedAt === null ? 0 : this.#admission.dueBefore(stoppedAt, (i) => this.#state[i] !== OVER),
      interrupted: this.#interrupted,
    });
  }

  /** A bug: everything is cut, and the run ends loudly. */
  #crash(error: unknown): void {
    if (this.#phase === "over") return;
    this.#close();
    for (const flight of this.#flights.values()) flight.cancel("aborted", "the run crashed");
    this.#reject(error);
  }

  #close(): void {
    this.#phase = "over";
    this.#preparation.close();
    for (const timer of [this.#timer, this.#stopTimer, this.#cancelTimer]) {
      if (timer !== null) this.#env.clock.cancel(timer);
    }
  }

  #emit(record: RequestRecord, index: number): void {
    this.#counts[record.status]++;
    if (this.#phase === "over") return;
    try {
      this.#env.onRecord(record, index);
    } catch (error) {
      this.#crash(error);
    }
  }

  #prepare(index: number): PreparedRequest | Promise<PreparedRequest> {
    const planned = this.#request(index);
    const history =
      this.#history === null || planned.release.kind !== "after" ? null : this.#history.of(planned);
    return this.#env.prepare(planned, history);
  }

  /** Bodies for those that will start as soon as a slot is free. */
  #expectUpcoming(): void {
    const now = this.#t0 === null ? 0 : this.#now();
    for (let index = this.#admission.upcoming(); index !== -1; index = this.#admission.upcoming()) {
      const { release } = scheduleAt(this.#plan.requests, index);
      this.#preparation.expect(index, now + (release.kind === "slot" ? release.delay_ms : 0));
    }
  }

  #dispatched(index: number): Dispatched {
    return dispatchedOf(this.#plan, index, this.#admission);
  }

  #request(index: number): PlannedRequest {
    return this.#plan.requests.at(index) as PlannedRequest;
  }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
