import { describe, expect, it } from "vitest";
import { VirtualClock } from "../core/virtual-clock.ts";
import type { SimConfigInput } from "./config.ts";
import { createSimEngine, type SequenceEnd, type SimEngine } from "./engine.ts";
import { digestPrompt } from "./prompt-digest.ts";

/** A step costs 10 ms + 1 ms a prefill token + 2 ms a decoding sequence; blocks of 4 tokens. */
const LINEAR = { base_ms: 10, prefill_token_ms: 1, decode_seq_ms: 2 };
const BASE: SimConfigInput = {
  model: "qwen2.5-0.5b",
  gpu: "l4",
  block_size: 4,
  num_gpu_blocks: 1000,
  max_num_seqs: 8,
  linear_step: LINEAR,
};

interface Run {
  readonly id: string;
  readonly token_ms: number[];
  end: SequenceEnd | null;
}

function setup(config: SimConfigInput = {}) {
  const clock = new VirtualClock();
  const engine = createSimEngine({ ...BASE, ...config }, clock, 1);
  const order: string[] = [];
  /** Submits at `at` a prompt of the given ids (or that many ids of its own) with a forced output length. */
  const submit = (id: string, at: number, prompt: number | readonly number[], output: number): Run => {
    const run: Run = { id, token_ms: [], end: null };
    const start = (id.codePointAt(0) ?? 0) * 1000;
    const ids = typeof prompt === "number" ? Array.from({ length: prompt }, (_, i) => start + i) : prompt;
    clock.at(at, () => {
      engine.submit(
        {
          id,
          prompt: digestPrompt(ids, BASE.block_size as number),
          max_tokens: output,
          min_tokens: 0,
          ignore_eos: true,
          chat: false,
          seed: null,
        },
        (_token, now, end) => {
          run.token_ms.push(now);
          if (end !== null) {
            run.end = end;
            order.push(id);
          }
        },
      );
    });
    return run;
  };
  return { clock, engine, submit, order };
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

function times(run: Run): Pick<SequenceEnd, "queue_ms" | "prefill_ms" | "decode_ms"> {
  const { queue_ms, prefill_ms, decode_ms } = run.end as SequenceEnd;
  return { queue_ms, prefill_ms, decode_ms };
}

describe("the step loop", () => {
  it("gives one request a prefill step and a step for each further token", async () => {
    const { clock, submit, engine } = setup();
    const a = submit("a", 5, 20, 3);
    await clock.run();
    // Prefill 10 + 20, then twice 10 + 2.
    expect(a.token_ms).toEqual([35, 47, 59]);
    expect(times(a)).toEqual({ queue_ms: 0, prefill_ms: 30, decode_ms: 24 });
    expect(a.end).toMatchObject({ prompt_tokens: 20, output_tokens: 3, cached_tokens: 0, reason: "length" });
    expect(engine.stats()).toMatchObject({ running: 0, waiting: 0, kv_usage: 0, max_lag_ms: 0 });
    expect(engine.counters).toMatchObject({ steps: 3, busy_ms: 54, generation_tokens: 3, prompt_tokens: 20 });
  });

  it("batches requests of one instant, and lets a later one join at the next step", async () => {
    const { clock, submit } = setup();
    const a = submit("a", 0, 8, 4);
    const b = submit("b", 0, 12, 2);
    const c = submit("c", 25, 6, 2);
    await clock.run();
    // Step 1: 10 + 8 + 12 = 30. Step 2: c (waiting since 25) prefills beside two decodes: 10 + 6 + 4 = 20.
    expect(b.token_ms).toEqual([30, 50]);
    expect(c.token_ms[0]).toBe(50);
    // Step 3: a and c decode: 14. Step 4: a alone: 12.
    expect(a.token_ms).toEqual([30, 50, 64, 76]);
    expect(c.token_ms).toEqual([50, 64]);
    expect(times(c)).toEqual({ queue_ms: 5, prefill_ms: 20, decode_ms: 14 });
  });

  it("a request that comes at the very end of a step joins the next", async () => {
    const { clock, submit } = setup();
    submit("a", 0, 20, 2);
    const b = submit("b", 30, 10, 1);
    await clock.run();
    expect(times(b)).toEqual({ queue_ms: 0, prefill_ms: 22, decode_ms: 0 });
  });

  it("holds at most max_num_seqs, first come first served", async () => {
    const { clock, submit, order } = setup({ max_num_seqs: 2 });
    const a = submit("a", 0, 4, 2);
    const b = submit("b", 1, 4, 1);
    const c = submit("c", 2, 4, 1);
    const d = submit("d", 3, 4, 1);
    await clock.run();
    // a alone 14; a decodes + b 16 → 30, both over; c + d 18 → 48.
    expect(order).toEqual(["a", "b", "c", "d"]);
    expect([a, b, c, d].map((run) => run.token_ms.at(-1))).toEqual([30, 30, 48, 48]);
    expect(times(d).queue_ms).toBe(27);
  });

  it("runs `speed` times faster", async () => {
    const { clock, submit } = setup({ speed: 10 });
    const a = submit("a", 0, 20, 3);
    await clock.run();
    expect(a.token_ms).toEqual([3, 4.2, 5.4]);
  });

  it("drops an aborted request, running or waiting, and tells nothing more of it", async () => {
    const { clock, engine, submit } = setup({ max_num_seqs: 1 });
    const seen: number[] = [];
    const request = (id: number) => ({
      id: String(id),
      prompt: digestPrompt(range(id, id + 10), 4),
      max_tokens: 50,
      min_tokens: 0,
      ignore_eos: true,
      chat: false,
      seed: null,
    });
    const running = engine.submit(request(9000), (_id, at) => seen.push(at));
    const waiting = engine.submit(request(8000), (_id, at) => seen.push(at));
    clock.at(25, () => running.abort());
    clock.at(26, () => waiting.abort());
    const next = submit("n", 27, 4, 1);
    await clock.run();
    // Token at 20; the step that ends at 32 is for nobody, then n: 14.
    expect(seen).toEqual([20]);
    expect(next.token_ms).toEqual([46]);
    expect(engine.counters.finished).toEqual({ stop: 0, length: 1, abort: 2 });
    expect(engine.stats().kv_usage).toBe(0);
  });

  it("is deterministic", async () => {
    const once = async (): Promise<number[][]> => {
      const { clock, submit } = setup({ num_gpu_blocks: 40, max_num_seqs: 4 });
      const runs = Array.from({ length: 20 }, (_, i) =>
        submit(`${i}`, i * 7, 10 + ((i * 13) % 40), 5 + (i % 9)),
      );
      await clock.run();
      return runs.map((run) => run.token_ms);
    };
    expect(await once()).toEqual(await once());
  });
});

describe("chunked prefill", () => {
  it("splits a long prompt by the token budget, decodes first", async () => {
    const { clock, submit } = setup({ max_num_batched_tokens: 16 });
    const a = submit("a", 0, 8, 5);
    const b = submit("b", 1, 40, 1);
    await clock.run();
    // a: 18. Then a decodes (1 token of 16) beside 15, 15, 10 tokens of b: 27, 27, 22. Then a alone: 12.
    expect(a.token_ms).toEqual([18, 45, 72, 94, 106]);
    expect(b.token_ms).toEqual([94]);
    expect(times(b)).toEqual({ queue_ms: 17, prefill_ms: 76, decode_ms: 0 });
  });

  it("off: a prompt runs whole, and waits until the budget holds it", async () => {
    const { clock, submit } = setup({
      enable_chunked_prefill: false,
      max_model_len: 48,
      max_num_batched_tokens: 48,
    });
    const a = submit("a", 0, 30, 2);
    const b = submit("b", 0, 40, 1);
    await clock.run();
    // 30 of 48 are taken: b does not fit; beside a's decode (1 of 48) it does.
    expect(a.token_ms).toEqual([40, 92]);
    expect(b.token_ms).toEqual([92]);
  });

  it("a long prefill delays others' tokens more without chunks", async () => {
    const worst = async (chunked: boolean): Promise<number> => {
      const { clock, submit } = setup({
        enable_chunked_prefill: chunked,
        max_model_len: 2000,
        max_num_batched_tokens: chunked ? 100 : 2000,
      });
      const a = submit("a", 0, 8, 60);
      submit("b", 50, 1500, 1);
      await clock.run();
      return Math.max(...a.token_ms.map((at, i) => (i === 0 ? 0 : at - (a.token_ms[i - 1] as number))));
    };
    expect(await worst(false)).toBe(1512);
    expect(await worst(true)).toBe(111);
  });
});

describe("the prefix cache", () => {
  const shared = range(0, 16);

  it("skips the full blocks that are known, but computes at least one token", async () => {
    const { clock, engine, submit } = setup();
    submit("a", 0, shared, 1);
    const same = submit("b", 100, shared, 1);
    const longer = submit("c", 200, [...shared, 900, 901, 902], 1);
    const other = submit("d", 300, [999, ...shared.slice(1)], 1);
    await clock.run();
    // 16 tokens, all known: three blocks are taken over, the fourth is computed for its last token.
    expect(same.end).toMatchObject({ cached_tokens: 12, prefill_ms: 14 });
    expect(longer.end).toMatchObject({ cached_tokens: 16, prefill_ms: 13 });
    // The first token differs: so does every block.
    expect(other.end).toMatchObject({ cached_tokens: 0, prefill_ms: 26 });
    expect(engine.stats().cache).toMatchObject({ queries: 16 + 16 + 19 + 16, hits: 28 });
  });

  it("off: computes everything and counts nothing", async () => {
    const { clock, engine, submit } = setup({ enable_prefix_caching: false });
    submit("a", 0, shared, 1);
    const same = submit("b", 100, shared, 1);
    await clock.run();
    expect(same.end).toMatchObject({ cached_tokens: 0, prefill_ms: 26 });
    expect(engine.stats().cache).toMatchObject({ queries: 0, hits: 0 });
  });

  it("holds answers too: a history with the answer in it goes on where the answer ended", async () => {
    const clock = new VirtualClock();
    const engine = createSimEngine(BASE, clock, 1);
    const answer: number[] = [];
    const ask = (ids: readonly number[], output: number, done: (end: SequenceEnd) => void): void => {
      engine.submit(
        {
          id: "x",
          prompt: digestPrompt(ids, 4),
          max_tokens: output,
          min_tokens: 0,
          ignore_eos: true,
          chat: false,
          seed: null,
        },
        (id, _at, end) => {
          answer.push(id);
          if (end !== null) done(end);
        },
      );
    };
    let second: SequenceEnd | null = null;
    ask(shared, 9, () => ask([...shared, ...answer.slice(0, 9), 7, 7], 1, (end) => (second = end)));
    await clock.run();
    // 16 + 9 tokens; the 9th answer token was never computed: 24 of them are in full, computed blocks.
    expect(second).toMatchObject({ cached_tokens: 24, prompt_tokens: 27 });
  });

  it("forgets the least recently freed block first, tails before heads", async () => {
    const { clock, submit } = setup({ num_gpu_blocks: 8, max_model_len: 32 });
    submit("a", 0, range(0, 15), 1);
    submit("b", 100, range(100, 115), 1);
    // Takes 2 blocks: a's last one (never full) and the last full one of a.
    submit("c", 200, range(200, 207), 1);
    const a = submit("d", 300, range(0, 15), 1);
    await clock.run();
    expect(a.end).toMatchObject({ cached_tokens: 8 });
  });

  it("is emptied on request, unless blocks are in use", async () => {
    const { clock, engine, submit } = setup();
    submit("a", 0, shared, 3);
    clock.at(5, () => expect(engine.resetPrefixCache()).toBe(false));
    clock.at(100, () => expect(engine.resetPrefixCache()).toBe(true));
    const again = submit("b", 101, shared, 1);
    await clock.run();
    expect(again.end).toMatchObject({ cached_tokens: 0 });
  });
});

describe("host memory", () => {
  // One block is 4 x 12,288 bytes (2 x 24 layers x 2 heads x 64 x 2 bytes) over 32 GB/s x 0.85: 1.807 us.
  const LOAD_MS = (4 * 12_288) / (32e6 * 0.85);

  it("keeps what the GPU evicts and brings it back", async () => {
    const run = async (host_cache_blocks: number) => {
      const { clock, engine, submit } = setup({ num_gpu_blocks: 8, max_model_len: 32, host_cache_blocks });
      submit("a", 0, range(0, 28), 1);
      submit("b", 100, range(100, 128), 1);
      const again = submit("c", 200, range(0, 28), 1);
      await clock.run();
      return { again, engine };
    };
    const without = await run(0);
    expect(without.again.end?.cached_tokens).toBeLessThanOrEqual(4);
    const with_host = await run(100);
    // 28 tokens: 6 blocks may be taken over. b needed 7 of 8 blocks, so at most one of a stayed on the GPU.
    expect(with_host.again.end).toMatchObject({ cached_tokens: 24 });
    expect(with_host.engine.counters.loaded_blocks).toBeGreaterThanOrEqual(5);
    expect(with_host.engine.stats().cache.external_hits).toBe(with_host.engine.counters.loaded_blocks * 4);
    expect(with_host.again.end?.prefill_ms).toBe(14);
  });

  it("costs the transfer where that is longer than the step", async () => {
    const { clock, submit } = setup({
      num_gpu_blocks: 8,
      max_model_len: 32,
      host_cache_blocks: 100,
      linear_step: {},
    });
    submit("a", 0, range(0, 28), 1);
    submit("b", 100, range(100, 128), 1);
    const again = submit("c", 200, range(0, 28), 1);
    await clock.run();
    // Steps are free here: what is left is the longer of reading back and evicting: six blocks each.
    expect(again.end?.prefill_ms).toBeCloseTo(6 * LOAD_MS, 9);
  });
});

describe("preemption", () => {
  it("takes the blocks of the latest, which computes everything again later", async () => {
    // 8 blocks of 4 tokens. a: 12 + 12 tokens, b: 12 + 12 tokens: together more than 32.
    const { clock, engine, submit } = setup({
      num_gpu_blocks: 8,
      max_model_len: 32,
      enable_prefix_caching: false,
    });
    const a = submit("a", 0, 12, 12);
    const b = submit("b", 0, 12, 12);
    await clock.run();
    // 34, then steps of 14 (two decodes). After 5 tokens each both hold 16 computed and 4 blocks, all 8; the next step
    // needs a fifth block for a: b loses its. a's tokens 6 to 12 take 12 each.
    const both = [34, 48, 62, 76, 90];
    const alone = Array.from({ length: 7 }, (_, i) => 90 + 12 * (i + 1));
    expect(a.token_ms).toEqual([...both, ...alone]);
    // b, 17 tokens again. It may come back only when it fits: beside a (5, later 6 blocks) it does not. 174 + 10 + 17.
    expect(b.token_ms.slice(0, 6)).toEqual([...both, 174 + 27]);
    expect(b.end).toMatchObject({ preemptions: 1, output_tokens: 12, queue_ms: 0, prefill_ms: 34 });
    expect(engine.stats().preemptions).toBe(1);
    expect(engine.counters.generation_tokens).toBe(24);
  });

  it("never gets stuck, whatever the load on a small pool", async () => {
    const { clock, engine, submit, order } = setup({
      num_gpu_blocks: 12,
      max_model_len: 48,
      max_num_seqs: 8,
    });
    const runs = Array.from({ length: 60 }, (_, i) =>
      submit(`${i}`, (i * 37) % 300, 3 + ((i * 17) % 30), 1 + ((i * 7) % 15)),
    );
    await clock.run();
    expect(order.length).toBe(60);
    expect(runs.every((run, i) => run.token_ms.length === 1 + ((i * 7) % 15))).toBe(true);
    expect(engine.stats()).toMatchObject({ running: 0, waiting: 0, kv_usage: 0 });
    expect(engine.stats().preemptions).toBeGreaterThan(0);
  });
});

describe("requests that were not checked", () => {
  it("are refused as a bug", () => {
    const { engine } = setup({ max_model_len: 32 });
    const bad = (tokens: number, max_tokens: number) => () => submitRaw(engine, tokens, max_tokens);
    expect(bad(0, 1)).toThrow(/not checked/);
    expect(bad(4, 0)).toThrow(/not checked/);
    expect(bad(30, 3)).toThrow(/not checked/);
  });
});

function submitRaw(engine: SimEngine, tokens: number, max_tokens: number): void {
  engine.submit(
    {
      id: "x",
      prompt: digestPrompt(range(0, tokens), 4),
      max_tokens,
      min_tokens: 0,
      ignore_eos: true,
      chat: false,
      seed: null,
    },
    () => {},
  );
}
