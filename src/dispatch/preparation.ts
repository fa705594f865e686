/**
 * Bodies are made ahead of the send instant, in the order they will be needed, within bounds of time, count and bytes,
 * in small portions between sends. What is not ready when its time comes is made then, and shows as lateness.
 */
import type { PreparedRequest } from "../client/client.ts";
import type { Clock, Timer } from "../core/clock.ts";
import { type Failure, UserError } from "../core/failure.ts";
import type { Ms } from "../core/units.ts";
import type { Plan } from "../plan/plan.ts";
import { knownDues } from "./plan-graph.ts";
import { ReleaseQueue } from "./release-queue.ts";

export interface Lookahead {
  readonly ms: Ms;
  readonly count: number;
  readonly bytes: number;
}

export type Claim = { readonly prepared: PreparedRequest } | { readonly failure: Failure };

export interface PreparationEnv {
  readonly clock: Clock;
  readonly lookahead: Lookahead;
  prepare(index: number): PreparedRequest | Promise<PreparedRequest>;
  /** A request that was claimed while it was being prepared is ready now. */
  onReady(index: number, claim: Claim): void;
  /** `prepare` threw what is no user's mistake and no lack of resources. */
  onBug(error: unknown): void;
  /** Absolute instant of the next send; portions of work keep clear of it. */
  nextSend(): Ms;
}

const NONE = 0;
const PENDING = 1;
const READY = 2;
const FAILED = 3;
const CLAIMED = 4;
const GONE = 5;

/** Work between two looks at the clock. */
const PORTION_MS = 1;
/** Bodies being made elsewhere at a time (those whose time has come are not held back by it). */
const PENDING_MAX = 32;
/** Share of the bounds that may be taken by requests whose time is not known yet. */
const GUESS_SHARE = 0.5;

export class Preparation {
  readonly #env: PreparationEnv;
  readonly #queue: ReleaseQueue;
  readonly #state: Uint8Array;
  readonly #guess: Uint8Array;
  readonly #claims = new Map<number, Claim>();
  readonly #pending = new Map<number, Promise<void>>();
  #t0: Ms | null = null;
  #timer: Timer | null = null;
  #count = 0;
  #bytes = 0;
  #cost: Ms = 0;
  #closed = false;

  /** Requests released by time are known from the start; the others must be told of with {@link expect}. */
  constructor(plan: Plan, env: PreparationEnv) {
    const n = plan.requests.length;
    this.#env = env;
    this.#queue = new ReleaseQueue(knownDues(plan));
    this.#state = new Uint8Array(n);
    this.#guess = new Uint8Array(n);
  }

  /** This request will be due about `due` (a guess while its parents still run). */
  expect(index: number, due: Ms, guess = false): void {
    if (this.#closed || this.#state[index] !== NONE) return;
    this.#guess[index] = guess ? 1 : 0;
    this.#queue.push(index, due);
    if (this.#t0 !== null) this.#wake(this.#wakeAt(due));
  }

  /** Prepares what is due within the first lookahead. Resolves when it is ready. */
  async first(yieldNow: () => Promise<void>): Promise<void> {
    let begun = this.#env.clock.now();
    for (let step = this.#step(-Infinity); step === "more" || step === "busy"; step = this.#step(-Infinity)) {
      if (step === "busy") await Promise.race(this.#pending.values());
      else if (this.#env.clock.now() - begun < 10 * PORTION_MS) continue;
      else await yieldNow();
      if (this.#closed) return;
      begun = this.#env.clock.now();
    }
    await Promise.all(this.#pending.values());
  }

  /** From now on preparation follows the clock. */
  start(t0: Ms): void {
    this.#t0 = t0;
    this.#wakeForQueue();
  }

  /** The request's time has come: its body (made now if it must be), or `null` if `onReady` will bring it. */
  claim(index: number): Claim | null {
    if (this.#state[index] === NONE) this.#begin(index);
    if (this.#state[index] === PENDING) {
      this.#state[index] = CLAIMED;
      return null;
    }
    const claim = this.#claims.get(index);
    if (claim === undefined) return null;
    this.#forget(index, claim);
    return claim;
  }

  /** The request will never be sent. */
  drop(index: number): void {
    const claim = this.#claims.get(index);
    if (claim !== undefined) this.#forget(index, claim);
    this.#state[index] = GONE;
  }

  /** Nothing more will be sent: stops, and frees what was made. */
  close(): void {
    this.#closed = true;
    if (this.#timer !== null) this.#env.clock.cancel(this.#timer);
    this.#timer = null;
    this.#claims.clear();
  }

  #run(): void {
    this.#timer = null;
    if (this.#closed || this.#t0 === null) return;
    const { clock, lookahead } = this.#env;
    const begun = clock.now();
    for (let now = begun; now - begun < PORTION_MS; now = clock.now()) {
      // Keep clear of the next send, unless what is to be prepared is needed soon.
      const untilSend = this.#env.nextSend() - now;
      const slack = this.#t0 + this.#queue.nextDue() - now;
      if (untilSend > 0 && untilSend < this.#cost && slack > lookahead.ms / 2) {
        this.#wake(now + untilSend);
        return;
      }
      const step = this.#step(now);
      if (step === "later") this.#wakeForQueue();
      if (step !== "more") return;
    }
    this.#wake(clock.now());
  }

  /**
   * One request, at the instant `now` of the clock (not used before the start). `full`: out of room; `busy`: enough are
   * being made (by others: the target's tokenizer) as it is. Both are woken when that changes.
   */
  #step(now: Ms): "more" | "later" | "full" | "busy" {
    const index = this.#queue.peek();
    if (index === -1) return "later";
    if (this.#state[index] !== NONE) {
      this.#queue.pop();
      return "more";
    }
    // The same sum as for the timer: a rounding error between the two would wake it over and over.
    const due = this.#queue.nextDue();
    const early = this.#t0 === null ? due > this.#env.lookahead.ms : this.#wakeAt(due) > now;
    if (early) return "later";
    const guess = this.#guess[index] === 1;
    if (!this.#hasRoom(guess ? GUESS_SHARE : 1)) {
      // A guess is asked for again when its time is known.
      if (!guess) return "full";
      this.#queue.pop();
      return "more";
    }
    if (this.#pending.size >= PENDING_MAX) return "busy";
    this.#queue.pop();
    const begun = this.#env.clock.now();
    this.#begin(index);
    this.#cost = 0.8 * this.#cost + 0.2 * (this.#env.clock.now() - begun);
    return "more";
  }

  #hasRoom(share: number): boolean {
    const { count, bytes } = this.#env.lookahead;
    return this.#count < count * share && this.#bytes < bytes * share;
  }

  #begin(index: number): void {
    this.#count++;
    try {
      const made = this.#env.prepare(index);
      if (!(made instanceof Promise)) {
        this.#settle(index, { prepared: made });
        return;
      }
      this.#state[index] = PENDING;
      const settled = made.then(
        (prepared) => this.#over(index, () => this.#settle(index, { prepared })),
        (error: unknown) => this.#over(index, () => this.#fail(index, error)),
      );
      this.#pending.set(index, settled);
    } catch (error) {
      this.#fail(index, error);
    }
  }

  #over(index: number, settle: () => void): void {
    this.#pending.delete(index);
    settle();
    this.#wakeForQueue();
  }

  #fail(index: number, error: unknown): void {
    const failure = preparationFailure(error);
    if (failure === null) {
      this.#closed = true;
      this.#env.onBug(error);
    } else this.#settle(index, { failure });
  }

  #settle(index: number, claim: Claim): void {
    if (this.#closed || this.#state[index] === GONE) {
      this.#count--;
      return;
    }
    if (this.#state[index] === CLAIMED) {
      this.#count--;
      this.#env.onReady(index, claim);
      return;
    }
    this.#claims.set(index, claim);
    this.#state[index] = "prepared" in claim ? READY : FAILED;
    if ("prepared" in claim) this.#bytes += claim.prepared.body_bytes;
  }

  #forget(index: number, claim: Claim): void {
    this.#claims.delete(index);
    this.#state[index] = CLAIMED;
    this.#count--;
    if ("prepared" in claim) this.#bytes -= claim.prepared.body_bytes;
    this.#wakeForQueue();
  }

  #wakeAt(due: Ms): Ms {
    return (this.#t0 as Ms) + due - this.#env.lookahead.ms;
  }

  #wakeForQueue(): void {
    if (this.#t0 === null || this.#closed) return;
    const due = this.#queue.nextDue();
    if (due !== Infinity) this.#wake(this.#wakeAt(due));
  }

  #wake(at: Ms): void {
    if (this.#closed) return;
    if (this.#timer !== null) {
      if (this.#timer.due <= at) return;
      this.#env.clock.cancel(this.#timer);
    }
    this.#timer = this.#env.clock.at(at, () => this.#run());
  }
}

/** A request that could not be prepared is a failed request; what is neither a mistake nor a lack is a bug (`null`). */
export function preparationFailure(error: unknown): Failure | null {
  if (!(error instanceof Error)) return null;
  // Errors of the system (EMFILE, ECONNREFUSED, ...); Node's own ERR_* are programming mistakes.
  const { code } = error as NodeJS.ErrnoException;
  return error instanceof UserError || (typeof code === "string" && !code.startsWith("ERR_"))
    ? { code: "client_resource", message: `not sent: ${error.message}`, http_status: null }
    : null;
}
