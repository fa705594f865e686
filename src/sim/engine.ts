/**
 * The simulated engine: one loop on an injected clock. A step is planned by the scheduler, takes the time the roofline
 * gives it, and then yields one token for each sequence whose known tokens are all computed. One timer a step; the
 * work of a step is proportional to its batch, whatever the prompts' lengths.
 */
import type { Clock } from "../core/clock.ts";
import type { Ms, Tokens } from "../core/units.ts";
import { resolveSimConfig, type ResolvedSim, type SimConfigInput } from "./config.ts";
import { graphSize } from "./cudagraph.ts";
import { EngineCounters } from "./engine-counters.ts";
import { planAnswer, type AnswerOptions } from "./output-words.ts";
import type { PromptDigest } from "./prompt-digest.ts";
import { PromptDigester } from "./prompt-digester.ts";
import { Scheduler, type CacheCounters, type StepPlan } from "./scheduler.ts";
import { Sequence, type SequenceEnd, type TokenListener } from "./sequence.ts";
import { stepTimer } from "./step-time.ts";

export type { SequenceEnd, TokenListener } from "./sequence.ts";

/** A request that has been checked against the engine's limits (validate-request.ts). */
export interface SimRequest extends AnswerOptions {
  readonly id: string;
  readonly prompt: PromptDigest;
}

/** Gauges of this instant. */
export interface SimStats {
  readonly running: number;
  readonly waiting: number;
  /** Share of KV blocks in use, 0 to 1. */
  readonly kv_usage: number;
  readonly cached_blocks: number;
  readonly host_blocks: number;
  readonly preemptions: number;
  readonly cache: Readonly<CacheCounters>;
  /** How far the clock was behind the engine's schedule at the worst, ms: 0 on virtual time. */
  readonly max_lag_ms: Ms;
}

export interface SimHandle {
  /** Ends the request now; no further token is told. Does nothing after its end. */
  abort(): void;
}

export interface SimEngine {
  readonly sim: ResolvedSim;
  readonly seed: number | string;
  readonly counters: EngineCounters;
  /** Turns prompt texts into what {@link SimRequest} takes. */
  readonly digester: PromptDigester;
  /** Queues a request. It is scheduled in the next step, at this very instant if the engine is idle. */
  submit(request: SimRequest, onToken: TokenListener): SimHandle;
  /** Told of every request that is submitted, after it was queued. For whoever samples the engine while it works. */
  onSubmit: (() => void) | null;
  stats(): SimStats;
  /** Forgets all cached blocks; `false` while requests hold blocks. */
  resetPrefixCache(): boolean;
  /** No more steps; what runs is dropped. */
  stop(): void;
}

/** Behind by more than this, the engine gives up catching up and takes the clock's time. */
const MAX_CATCH_UP_MS = 50;

class Engine implements SimEngine {
  readonly sim: ResolvedSim;
  readonly seed: number | string;
  readonly counters = new EngineCounters();
  readonly digester: PromptDigester;
  onSubmit: (() => void) | null = null;
  readonly #clock: Clock;
  readonly #scheduler: Scheduler;
  readonly #stepTime: ReturnType<typeof stepTimer>;
  /** A step runs or is about to be planned. */
  #busy = false;
  #stopped = false;
  #lag: Ms = 0;

  constructor(sim: ResolvedSim, clock: Clock, seed: number | string) {
    this.sim = sim;
    this.#clock = clock;
    this.seed = seed;
    this.#scheduler = new Scheduler(sim);
    this.#stepTime = stepTimer(sim);
    this.digester = new PromptDigester(sim.config.block_size);
  }

  submit(request: SimRequest, onToken: TokenListener): SimHandle {
    const total: Tokens = request.prompt.tokens + request.max_tokens;
    if (request.prompt.tokens < 1 || request.max_tokens < 1 || total > this.sim.max_model_len) {
      throw new Error(`simulated engine: request ${request.id} was not checked`);
    }
    const answer = planAnswer(request, request.prompt.chain, this.seed, this.sim.config.mean_output_tokens);
    const now = this.#clock.now();
    const sequence = new Sequence(request.id, request.prompt, answer, onToken, now);
    this.#scheduler.waiting.push(sequence);
    if (!this.#busy) this.#planAt(now);
    this.onSubmit?.();
    return {
      abort: () => {
        if (sequence.state === "done") return;
        this.#scheduler.remove(sequence);
        this.counters.finished.abort++;
      },
    };
  }

  stats(): SimStats {
    const { pool, host, running, waiting, preemptions, cache } = this.#scheduler;
    return {
      running: running.length,
      waiting: waiting.length,
      kv_usage: pool.used / pool.size,
      cached_blocks: pool.cached,
      host_blocks: host.used,
      preemptions,
      cache: { ...cache },
      max_lag_ms: this.#lag,
    };
  }

  resetPrefixCache(): boolean {
    return this.#scheduler.reset();
  }

  stop(): void {
    this.#stopped = true;
    for (const sequence of [...this.#scheduler.running, ...this.#scheduler.waiting]) {
      this.#scheduler.remove(sequence);
    }
  }

  /** Plans a step at the end of this instant, so that everything submitted at it takes part. */
  #planAt(at: Ms): void {
    this.#busy = true;
    this.#clock.at(at, () => {
      const lag = this.#clock.now() - at;
      if (lag > this.#lag) this.#lag = lag;
      this.#begin(lag > MAX_CATCH_UP_MS ? this.#clock.now() : at);
    });
  }

  #begin(now: Ms): void {
    if (this.#stopped) return;
    const plan = this.#scheduler.schedule(now);
    const { work } = plan;
    if (work.seqs === 0) {
      if (this.#scheduler.waiting.length > 0) throw new Error("simulated engine: the queue is stuck");
      this.#busy = false;
      return;
    }
    const took = this.#stepTime(work);
    const { counters } = this;
    counters.steps++;
    counters.busy_ms += took;
    counters.loaded_blocks += work.load_blocks;
    counters.stored_blocks += work.store_blocks;
    counters.iteration_tokens.observe(work.tokens);
    if (graphSize(this.sim.capture_sizes, work.tokens) === null) counters.eager_steps++;
    const end = now + took;
    this.#clock.at(end, () => this.#finish(plan, end));
  }

  #finish(plan: StepPlan, now: Ms): void {
    const { sequences, tokens } = plan;
    for (let i = 0; i < sequences.length; i++) {
      const sequence = sequences[i] as Sequence;
      // Aborted while the step ran.
      if (sequence.state !== "running") continue;
      sequence.computed += tokens[i] as number;
      if (sequence.computed === sequence.total) this.#emit(sequence, now);
    }
    this.#planAt(now);
  }

  #emit(sequence: Sequence, step_end: Ms): void {
    const { counters } = this;
    // On real time a request can come while the loop is a little behind the engine's own time.
    const now = Math.max(step_end, sequence.arrival);
    const id = sequence.sample();
    counters.generation_tokens++;
    if (sequence.first_token === null) {
      sequence.first_token = now;
      counters.prompt_tokens += sequence.prompt.tokens;
      counters.time_to_first_token.observe((now - sequence.arrival) / 1000);
    } else {
      counters.inter_token.observe((now - (sequence.last_token as Ms)) / 1000);
    }
    sequence.last_token = now;
    const over = sequence.output >= sequence.answer.tokens;
    // Out of the batch before anybody is told: the listener may submit or look at the stats.
    if (over) this.#scheduler.remove(sequence);
    const end = over ? endOf(sequence, now) : null;
    if (end !== null) counters.finish(end);
    sequence.onToken(id, now, end);
  }
}

function endOf(sequence: Sequence, now: Ms): SequenceEnd {
  const scheduled = sequence.scheduled as Ms;
  const first = sequence.first_token as Ms;
  return {
    reason: sequence.answer.stops ? "stop" : "length",
    at: now,
    prompt_tokens: sequence.prompt.tokens,
    output_tokens: sequence.output,
    cached_tokens: sequence.cached_tokens ?? 0,
    queue_ms: scheduled - sequence.arrival,
    prefill_ms: first - scheduled,
    decode_ms: now - first,
    preemptions: sequence.preemptions,
  };
}

/**
 * A simulated engine on `clock`. The same configuration, seed and requests at the same instants give the same result.
 * Throws a `UserError` for a configuration no server would start with.
 */
export function createSimEngine(
  config: SimConfigInput | ResolvedSim,
  clock: Clock,
  seed: number | string,
): SimEngine {
  return new Engine("served_name" in config ? config : resolveSimConfig(config), clock, seed);
}
