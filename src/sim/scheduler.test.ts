import { describe, expect, it } from "vitest";
import { createRng } from "../core/random.ts";
import { resolveSimConfig, type SimConfigInput } from "./config.ts";
import { planAnswer } from "./output-words.ts";
import { digestPrompt } from "./prompt-digest.ts";
import { Scheduler } from "./scheduler.ts";
import { Sequence } from "./sequence.ts";

/** Prompts that share prefixes: a few heads, each continued in a few ways. */
function randomPrompt(rng: ReturnType<typeof createRng>): number[] {
  const head = rng.integer(0, 3);
  const middle = rng.integer(0, 3);
  const of = (start: number, count: number): number[] => Array.from({ length: count }, (_, i) => start + i);
  return [
    ...of(head * 1000, 12 + head * 4),
    ...of(100_000 + middle * 1000, rng.integer(0, 30)),
    ...of(rng.integer(0, 5) * 500_000, rng.integer(1, 12)),
  ];
}

/** Drives the scheduler step by step under a random load, looking at it after each plan. */
function drive(config: SimConfigInput, seed: number, look: (scheduler: Scheduler) => void): Scheduler {
  const sim = resolveSimConfig({
    model: "qwen2.5-0.5b",
    gpu: "l4",
    block_size: 4,
    num_gpu_blocks: 30,
    max_model_len: 100,
    max_num_seqs: 6,
    max_num_batched_tokens: 40,
    ...config,
  });
  const scheduler = new Scheduler(sim);
  const rng = createRng(seed);
  let left = 150;
  for (let step = 0; left > 0 || scheduler.running.length + scheduler.waiting.length > 0; step++) {
    for (let n = rng.integer(0, 2); n > 0 && left > 0; n--, left--) {
      const prompt = digestPrompt(randomPrompt(rng), 4);
      const answer = planAnswer(
        { max_tokens: rng.integer(1, 20), min_tokens: 0, ignore_eos: true, chat: false, seed: left },
        prompt.chain,
        1,
        10,
      );
      scheduler.waiting.push(new Sequence(String(left), prompt, answer, () => {}, step));
    }
    const { sequences, tokens, work } = scheduler.schedule(step);
    expect(work.tokens).toBeLessThanOrEqual(sim.max_num_batched_tokens);
    expect(work.tokens).toBe(tokens.reduce((sum, n) => sum + n, 0));
    expect(scheduler.running.length).toBeLessThanOrEqual(6);
    look(scheduler);
    // Somebody gives up now and then.
    const victim = rng.uniform() < 0.05 ? rng.pick([...scheduler.running, ...scheduler.waiting, null]) : null;
    if (victim !== null) scheduler.remove(victim);
    for (const [i, sequence] of sequences.entries()) {
      if (sequence.state !== "running") continue;
      sequence.computed += tokens[i] as number;
      if (sequence.computed < sequence.total) continue;
      sequence.sample();
      if (sequence.output === sequence.answer.tokens) scheduler.remove(sequence);
    }
    if (step > 20_000) throw new Error("stuck");
  }
  return scheduler;
}

describe("the scheduler under a random load", () => {
  const CASES: readonly [string, SimConfigInput][] = [
    ["small pool", {}],
    ["with host memory", { host_cache_blocks: 25 }],
    ["with much host memory", { host_cache_blocks: 1000 }],
    ["without prefix caching", { enable_prefix_caching: false }],
    ["without chunked prefill", { enable_chunked_prefill: false, max_num_batched_tokens: 100 }],
  ];
  for (const [name, config] of CASES) {
    it(`${name}: accounts for every block, and knows what is cached`, () => {
      let preempted = 0;
      let watched = 0;
      for (let seed = 1; seed <= 4; seed++) {
        const scheduler = drive(config, seed, (now) => {
          const held = new Set(now.running.flatMap((sequence) => sequence.blocks));
          expect(now.pool.used).toBe(held.size);
          for (const sequence of now.running) {
            if (sequence.blocks.length * 4 < sequence.computed) throw new Error("computed beyond its blocks");
          }
          // What the blocked head is believed to hit is really there.
          const head = now.waiting[0];
          for (const [i, block] of (head?.hits ?? []).entries()) {
            const name = head?.names[i] as number;
            watched++;
            const there = block >= 0 ? now.names.gpu[name] === block : now.host.has(name);
            if (!there) throw new Error(`block ${i} of the head is not where it is believed to be`);
          }
        });
        preempted += scheduler.preemptions;
        expect(scheduler.pool.used).toBe(0);
        expect(scheduler.host.used).toBeLessThanOrEqual(scheduler.host.size);
        // Only the two tiers hold names any more, never the same; emptied, they hold none.
        expect(scheduler.names.size).toBe(scheduler.pool.cached + scheduler.host.used);
        expect(scheduler.reset()).toBe(true);
        expect([scheduler.names.size, scheduler.pool.cached, scheduler.host.used]).toEqual([0, 0, 0]);
        expect(scheduler.cache.hits + scheduler.cache.external_hits).toBeLessThanOrEqual(
          scheduler.cache.queries,
        );
      }
      expect(preempted).toBeGreaterThan(0);
      if (config.enable_prefix_caching !== false) expect(watched).toBeGreaterThan(100);
    });
  }
});
