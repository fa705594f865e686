/**
 * Who may go now. Requests whose time has come wait for their job's slot and for a request slot; a free slot goes to the
 * earliest intended time (ties: plan order) and never to a request whose time has not come. Knows no clock: every call
 * says what time it is, in ms from `t0`.
 */
import type { Ms } from "../core/units.ts";
import type { Plan, Release } from "../plan/plan.ts";
import { scheduleAt } from "../plan/planned-requests.ts";
import { knownDues } from "./plan-graph.ts";
import { ReleaseQueue } from "./release-queue.ts";
import { SlotPool } from "./slot-pool.ts";

/** How many slot-released requests or jobs are prepared beyond those that have started. */
const AHEAD_MAX = 1024;
const AHEAD_EXTRA = 8;

export class Admission {
  /** When each request should be sent; NaN while unknown. */
  readonly intended: Float64Array;
  /** When its slot was granted; NaN without a cap. */
  readonly slot: Float64Array;
  readonly #plan: Plan;
  readonly #timed: ReleaseQueue;
  readonly #ready = new ReleaseQueue();
  readonly #slots: SlotPool;
  readonly #jobSlots: SlotPool;
  readonly #jobsCapped: boolean;
  /** 1 once the job has its slot. */
  readonly #jobStarted: Uint8Array;
  /** Due requests of jobs that wait for their slot, by job; the queue holds the first of each. */
  readonly #gate = new ReleaseQueue();
  readonly #gated = new Map<number, number[]>();
  /** Jobs, or requests, that start whenever a slot is free, in plan order. */
  readonly #slotJobs: Uint32Array;
  readonly #slotRequests: Uint32Array;
  #nextSlotJob = 0;
  #nextSlotRequest = 0;
  /** How far {@link upcoming} has got. */
  #toldRequests = 0;
  #toldJobs = 0;
  #toldRoots: number[] = [];
  /** 1 for a request that was granted its slot before its (delayed) time. */
  readonly #reserved: Uint8Array;
  /** 1 for a request that will not be sent any more, though its time is known. */
  readonly #withdrawn: Uint8Array;

  constructor(plan: Plan) {
    const n = plan.requests.length;
    this.#plan = plan;
    this.intended = new Float64Array(n).fill(NaN);
    this.slot = new Float64Array(n).fill(NaN);
    this.#reserved = new Uint8Array(n);
    this.#withdrawn = new Uint8Array(n);
    this.#jobStarted = new Uint8Array(plan.jobs.length);
    this.#slots = new SlotPool(plan.max_concurrency);
    this.#jobSlots = new SlotPool(plan.max_concurrent_jobs);
    this.#jobsCapped = plan.max_concurrent_jobs !== null;
    const slotRequests: number[] = [];
    const slotJobs = new Set<number>();
    for (let index = 0; index < n; index++) {
      const { job, release } = scheduleAt(plan.requests, index);
      if (release.kind === "at") {
        this.intended[index] = release.offset_ms;
      } else if (release.kind === "slot") {
        if (this.#jobsCapped) slotJobs.add(job);
        else slotRequests.push(index);
      }
    }
    this.#timed = new ReleaseQueue(knownDues(plan));
    this.#slotJobs = Uint32Array.from(slotJobs).sort();
    this.#slotRequests = Uint32Array.from(slotRequests);
  }

  /** The next instant at which something becomes due; Infinity if nothing is known to. */
  nextDue(): Ms {
    return this.#timed.nextDue();
  }

  /** How many requests that `counts` says yes to were due before `at`. */
  dueBefore(at: Ms, counts: (index: number) => boolean): number {
    let due = 0;
    this.intended.forEach((intended, index) => {
      if (intended < at && counts(index)) due++;
    });
    return due;
  }

  /** A request's intended time has become known. */
  release(index: number, intended: Ms): void {
    this.intended[index] = intended;
    this.#timed.push(index, intended);
  }

  /** Takes the next request that may be sent, its slot granted; −1 if there is none now. */
  next(now: Ms): number {
    for (;;) {
      const delayed = this.#takeDue(now);
      if (delayed !== -1) return delayed;
      if (this.#startJobs()) continue;
      if (!this.#slots.available) return -1;
      const index = this.#popReady();
      if (index !== -1) {
        const since = this.#slots.take();
        if (this.#plan.max_concurrency !== null) this.#grant(index, since);
        return index;
      }
      if (this.#nextSlotRequest >= this.#slotRequests.length) return -1;
      const waiting = this.#slotRequests[this.#nextSlotRequest++] as number;
      const since = this.#slots.take();
      const intended = since + delayOf(this.#release(waiting));
      this.intended[waiting] = intended;
      if (this.#plan.max_concurrency !== null) this.slot[waiting] = since;
      if (intended <= now) return waiting;
      this.#reserved[waiting] = 1;
      this.#timed.push(waiting, intended);
    }
  }

  /** The request's slot is free again, since `at`. */
  ended(at: Ms): void {
    this.#slots.give(at);
  }

  /** All requests of the job have ended: its slot is free since `at`. A job that never started has none. */
  jobEnded(job: number, at: Ms): void {
    if (this.#jobStarted[job] === 1) this.#jobSlots.give(at);
  }

  /**
   * For preparation ahead: the next of those that start when a slot is free, as far as a capful (and a few) beyond
   * what has started; each is told once. −1 = none to be told now.
   */
  upcoming(): number {
    const requestsAhead = Math.min(this.#slots.cap, AHEAD_MAX) + AHEAD_EXTRA;
    if (
      this.#toldRequests < this.#slotRequests.length &&
      this.#toldRequests < this.#nextSlotRequest + requestsAhead
    )
      return this.#slotRequests[this.#toldRequests++] as number;
    const jobsAhead = Math.min(this.#jobSlots.cap, AHEAD_MAX) + AHEAD_EXTRA;
    while (this.#toldRoots.length === 0) {
      if (this.#toldJobs >= this.#slotJobs.length || this.#toldJobs >= this.#nextSlotJob + jobsAhead)
        return -1;
      const job = this.#plan.jobs.at(this.#slotJobs[this.#toldJobs++] as number);
      for (const index of job?.requests ?? []) {
        if (this.#release(index).kind === "slot") this.#toldRoots.push(index);
      }
    }
    return this.#toldRoots.shift() as number;
  }

  /** It will not be sent: its time comes to nothing. */
  withdraw(index: number): void {
    this.#withdrawn[index] = 1;
  }

  #popReady(): number {
    for (;;) {
      const index = this.#ready.pop();
      if (index === -1 || this.#withdrawn[index] === 0) return index;
    }
  }

  /** Moves what is due to where it waits; returns a request that already has its slot, or −1. */
  #takeDue(now: Ms): number {
    while (this.#timed.nextDue() <= now) {
      const index = this.#timed.pop();
      if (this.#withdrawn[index] === 1) continue;
      if (this.#reserved[index] === 1) return index;
      const { job } = scheduleAt(this.#plan.requests, index);
      if (!this.#jobsCapped || this.#jobStarted[job] === 1) {
        this.#ready.push(index, this.intended[index] as Ms);
        continue;
      }
      const waiting = this.#gated.get(job);
      if (waiting !== undefined) waiting.push(index);
      else {
        this.#gated.set(job, [index]);
        this.#gate.push(index, this.intended[index] as Ms);
      }
    }
    return -1;
  }

  /** Gives free job slots away; true if a job started. */
  #startJobs(): boolean {
    let started = false;
    while (this.#jobsCapped && this.#jobSlots.available) {
      const first = this.#gate.pop();
      if (first !== -1) {
        const { job } = scheduleAt(this.#plan.requests, first);
        const since = this.#jobSlots.take();
        this.#jobStarted[job] = 1;
        for (const index of this.#gated.get(job) ?? []) {
          this.#grant(index, since);
          this.#ready.push(index, this.intended[index] as Ms);
        }
        this.#gated.delete(job);
      } else if (this.#nextSlotJob < this.#slotJobs.length) {
        this.#startSlotJob(this.#slotJobs[this.#nextSlotJob++] as number);
      } else break;
      started = true;
    }
    return started;
  }

  #startSlotJob(job: number): void {
    if (this.#jobStarted[job] === 1) return;
    const since = this.#jobSlots.take();
    this.#jobStarted[job] = 1;
    for (const index of this.#plan.jobs.at(job)?.requests ?? []) {
      const release = this.#release(index);
      if (release.kind !== "slot") continue;
      this.slot[index] = since;
      this.release(index, since + release.delay_ms);
    }
  }

  /** The slot was there for it from the later of its own time and the instant the slot came free. */
  #grant(index: number, since: Ms): void {
    const earlier = this.slot[index] as Ms;
    const granted = Math.max(this.intended[index] as Ms, since);
    this.slot[index] = Number.isNaN(earlier) ? granted : Math.max(earlier, granted);
  }

  #release(index: number): Release {
    return scheduleAt(this.#plan.requests, index).release;
  }
}

function delayOf(release: Release): Ms {
  return release.kind === "slot" ? release.delay_ms : 0;
}
