/**
 * What runs in the next step, as vLLM's V1 scheduler decides it, first come first served:
 *
 * 1. Running sequences in order get their next tokens (one when decoding, the rest of the prompt when prefilling) as
 *    far as the step's token budget goes. Where no KV block is left, the latest running sequence is preempted: it loses
 *    its blocks, returns to the head of the queue and is computed again.
 * 2. If nobody was preempted, waiting sequences join while batch, budget and blocks last. Their longest cached prefix
 *    is taken over (at least one token is computed). Without chunked prefill a prompt joins whole or not at all.
 */
import type { Ms } from "../core/units.ts";
import { BlockNames } from "./block-names.ts";
import { BlockPool } from "./block-pool.ts";
import type { ResolvedSim } from "./config.ts";
import { HostTier } from "./host-tier.ts";
import type { Sequence } from "./sequence.ts";
import { emptyWork, type StepWork } from "./step-time.ts";

/** One step: who gets how many tokens, and the work that makes. */
export interface StepPlan {
  readonly sequences: Sequence[];
  readonly tokens: number[];
  readonly work: StepWork;
}

/** Counters of the prefix cache, tokens, as vLLM counts them: once a request, when it is first scheduled. */
export interface CacheCounters {
  queries: number;
  hits: number;
  /** Asked of, and found in, host memory. */
  external_queries: number;
  external_hits: number;
}

export class Scheduler {
  readonly names = new BlockNames();
  readonly pool: BlockPool;
  readonly host: HostTier;
  readonly waiting: Sequence[] = [];
  running: Sequence[] = [];
  readonly cache: CacheCounters = { queries: 0, hits: 0, external_queries: 0, external_hits: 0 };
  preemptions = 0;
  readonly #sim: ResolvedSim;
  readonly #block: number;
  readonly #caching: boolean;
  readonly #plan: StepPlan = { sequences: [], tokens: [], work: emptyWork() };
  /** The head of the queue whose known hits are kept up to date while it cannot be admitted. */
  #watched: Sequence | null = null;

  constructor(sim: ResolvedSim) {
    this.#sim = sim;
    this.#block = sim.config.block_size;
    this.#caching = sim.config.enable_prefix_caching;
    this.pool = new BlockPool(sim.num_gpu_blocks, this.names);
    this.host = new HostTier(this.#caching ? sim.host_blocks : 0, this.names);
    this.pool.onEvict = (name) => {
      if (this.host.put(name)) this.#plan.work.store_blocks++;
      this.#forget(name);
    };
    this.host.onGone = (name) => this.#forget(name);
  }

  /** Plans the step that starts at `now`. The plan is reused: read it before the next call. */
  schedule(now: Ms): StepPlan {
    const plan = this.#plan;
    plan.sequences.length = 0;
    plan.tokens.length = 0;
    Object.assign(plan.work, emptyWork());
    let budget = this.#sim.max_num_batched_tokens;
    let preempted = false;
    for (let i = 0; i < this.running.length && budget > 0; i++) {
      const sequence = this.running[i] as Sequence;
      const tokens = Math.min(sequence.total - sequence.computed, budget);
      while (!this.#grow(sequence, sequence.computed + tokens)) {
        preempted = true;
        const victim = this.running.pop() as Sequence;
        this.#preempt(victim);
        if (victim === sequence) break;
      }
      if (sequence.state !== "running") break;
      this.#add(sequence, tokens);
      budget -= tokens;
    }
    if (preempted) return plan;
    while (budget > 0 && this.waiting.length > 0) {
      if (this.running.length >= this.#sim.config.max_num_seqs) break;
      const tokens = this.#admit(this.waiting[0] as Sequence, budget, now);
      if (tokens === 0) break;
      budget -= tokens;
    }
    return plan;
  }

  /** Gives up a sequence's blocks. The last block goes first, so that prefixes outlive their tails. */
  release(sequence: Sequence): void {
    for (let i = sequence.blocks.length - 1; i >= 0; i--) this.pool.release(sequence.blocks[i] as number);
    sequence.blocks = [];
    sequence.committed = 0;
  }

  /** Takes a sequence out, whatever it was doing. */
  remove(sequence: Sequence): void {
    if (sequence.state === "waiting") this.waiting.splice(this.waiting.indexOf(sequence), 1);
    else if (sequence.state === "running") this.running.splice(this.running.indexOf(sequence), 1);
    sequence.state = "done";
    this.release(sequence);
    if (this.#watched === sequence) this.#watched = null;
    for (const name of sequence.names) this.names.drop(name);
    sequence.names.length = 0;
  }

  /** Forgets the cache in both tiers; `false` (and nothing done) while blocks are in use. */
  reset(): boolean {
    this.#watched = null;
    if (!this.pool.reset()) return false;
    this.host.reset();
    return true;
  }

  #add(sequence: Sequence, tokens: number): void {
    const { work } = this.#plan;
    this.#plan.sequences.push(sequence);
    this.#plan.tokens.push(tokens);
    work.seqs++;
    if (sequence.output > 0 && sequence.computed + 1 === sequence.total) work.decode_seqs++;
    work.tokens += tokens;
    work.context_tokens += sequence.computed + tokens;
    work.attention_pairs += tokens * sequence.computed + (tokens * (tokens + 1)) / 2;
    if (!this.#caching) return;
    const full = Math.floor((sequence.computed + tokens) / this.#block);
    for (let block = sequence.committed; block < full; block++) {
      const name = this.#name(sequence, block);
      this.pool.commit(sequence.blocks[block] as number, name);
      if (this.host.used > 0) this.host.take(name);
    }
    sequence.committed = Math.max(sequence.committed, full);
  }

  #grow(sequence: Sequence, tokens: number): boolean {
    const missing = Math.ceil(tokens / this.#block) - sequence.blocks.length;
    if (missing > this.pool.free) return false;
    for (let i = 0; i < missing; i++) sequence.blocks.push(this.pool.take());
    return true;
  }

  #preempt(sequence: Sequence): void {
    this.release(sequence);
    sequence.state = "waiting";
    sequence.computed = 0;
    sequence.preemptions++;
    this.preemptions++;
    this.waiting.unshift(sequence);
  }

  /** Admits the head of the queue with as many tokens as the budget allows; 0 = it has to wait. */
  #admit(sequence: Sequence, budget: number, now: Ms): number {
    const hits = this.#lookup(sequence);
    const cached = hits.length * this.#block;
    const rest = sequence.total - cached;
    if (!this.#sim.config.enable_chunked_prefill && rest > budget) return 0;
    const tokens = Math.min(rest, budget);
    const missing = Math.ceil((cached + tokens) / this.#block) - hits.length;
    if (missing > this.pool.free) return 0;
    let needed = missing;
    let loads = 0;
    for (const block of hits) {
      if (block < 0) loads++;
      else if (this.pool.isFree(block)) needed++;
    }
    if (needed + loads > this.pool.free) return 0;

    this.waiting.shift();
    this.#watched = null;
    // First everything that is to be kept, then new blocks: taking those evicts.
    for (const block of hits) if (block >= 0) this.pool.share(block);
    for (let i = hits.indexOf(-1); i >= 0; i = hits.indexOf(-1, i + 1))
      this.host.take(sequence.names[i] as number);
    for (let i = 0; i < hits.length; i++) {
      const block = hits[i] as number;
      if (block >= 0) {
        sequence.blocks.push(block);
        continue;
      }
      const loaded = this.pool.take();
      this.pool.commit(loaded, sequence.names[i] as number);
      sequence.blocks.push(loaded);
    }
    this.#plan.work.load_blocks += loads;
    sequence.hits = [];
    sequence.committed = hits.length;
    sequence.computed = cached;
    this.#count(sequence, cached, loads * this.#block);
    sequence.scheduled ??= Math.max(now, sequence.arrival);
    sequence.state = "running";
    this.running.push(sequence);
    this.#grow(sequence, cached + tokens);
    this.#add(sequence, tokens);
    return tokens;
  }

  #count(sequence: Sequence, cached: number, external: number): void {
    if (sequence.cached_tokens !== null) return;
    sequence.cached_tokens = cached;
    if (!this.#caching) return;
    this.cache.queries += sequence.total;
    this.cache.hits += cached - external;
    if (this.host.size === 0) return;
    this.cache.external_queries += sequence.total - (cached - external);
    this.cache.external_hits += external;
  }

  /** The longest cached prefix, block by block. For a head that stays blocked only what changed is looked at again. */
  #lookup(sequence: Sequence): readonly number[] {
    if (this.#watched !== sequence) {
      this.#watched = sequence;
      sequence.hits = [];
    }
    const hits = sequence.hits;
    if (!this.#caching) return hits;
    const limit = Math.floor((sequence.total - 1) / this.#block);
    while (hits.length < limit) {
      const name = this.#name(sequence, hits.length);
      const block = this.names.gpu[name] as number;
      if (block < 0 && !this.host.has(name)) break;
      hits.push(block);
    }
    return hits;
  }

  #forget(name: number): void {
    const watched = this.#watched;
    if (watched === null) return;
    const depth = this.names.depth[name] as number;
    if (depth < watched.hits.length && watched.names[depth] === name) watched.hits.length = depth;
  }

  #name(sequence: Sequence, block: number): number {
    const { names } = sequence;
    while (names.length <= block) names.push(this.names.hold(sequence.hashAt(names.length), names.length));
    return names[block] as number;
  }
}
