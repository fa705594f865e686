import { describe, expect, it } from "vitest";
import { UserError } from "../core/failure.ts";
import { resolveSimConfig, type SimConfigInput } from "./config.ts";
import { graphSize, resolveCaptureSizes } from "./cudagraph.ts";
import { GPUS, MODELS, activeParameters, kvBytesPerToken, type ModelSpec } from "./hardware.ts";
import { emptyWork, stepTimer, type StepWork } from "./step-time.ts";

/** 10^9 FLOP and 10^9 bytes a millisecond. */
const GPU = {
  name: "unit",
  bf16_tflops: 1,
  fp8_tflops: 2,
  memory_gb: 1000,
  memory_gb_s: 1000,
  link_gb_s: 100,
  host_gb_s: 10,
};
/** 10^9 parameters (2 ms to read in BF16, 2 ms to compute a token); KV: 2·10·10·100·2 = 40,000 bytes a token. */
const MODEL: ModelSpec = {
  name: "unit",
  parameters: 1e9,
  expert_parameters: 0,
  experts: 0,
  experts_per_token: 0,
  layers: 10,
  hidden: 1000,
  heads: 10,
  kv_heads: 10,
  head_dim: 100,
  vocabulary: 1000,
  context: 100_000,
};
const UNIT: SimConfigInput = {
  gpu: GPU,
  model: MODEL,
  mfu: 1,
  mbu: 1,
  step_overhead_ms: 0,
  seq_overhead_us: 0,
  launch_us: 0,
  allreduce_us: 0,
  cudagraph_capture_sizes: [1, 2, 4, 8],
};

const step = (config: SimConfigInput, work: Partial<StepWork>): number =>
  stepTimer(resolveSimConfig({ ...UNIT, ...config }))({ ...emptyWork(), ...work });

/** One sequence that decodes behind `cached` tokens. */
const decode = (cached: number): Partial<StepWork> => ({
  seqs: 1,
  decode_seqs: 1,
  tokens: 1,
  context_tokens: cached + 1,
  attention_pairs: cached + 1,
});

describe("the roofline", () => {
  it("a decode step is bound by memory: weights and KV cache", () => {
    // (2·10^9 + 40,000 · (100,000 read + 1 written)) / 10^9 = 6.00004; FLOPs: 2 + 4·10·10·100·10^5/10^9 = 6.
    expect(step({}, decode(99_999))).toBeCloseTo(6.00004, 9);
  });

  it("a prefill step is bound by arithmetic", () => {
    // 1000 tokens: 2·10^9·1000 + 40,000·500,500 FLOPs = 2000 + 20.02 ms.
    const work = { seqs: 1, tokens: 1000, context_tokens: 1000, attention_pairs: 500_500 };
    expect(step({}, work)).toBeCloseTo(2020.02, 6);
    expect(step({ mfu: 0.5 }, work)).toBeCloseTo(4040.04, 6);
    expect(step({ quantization: "fp8" }, work)).toBeCloseTo(1010.01, 6);
  });

  it("a mixture reads the experts that some token chose, and computes with the routed share", () => {
    const model = { ...MODEL, expert_parameters: 0.8e9, experts: 8, experts_per_token: 2 };
    expect(activeParameters(model)).toBeCloseTo(0.4e9, 0);
    // One token: 0.2 + 0.8·2/8 = 0.4·10^9 parameters, 0.8 ms; two: 0.2 + 0.8·(1 − 0.75²) = 0.55, 1.1 ms (FLOPs 1.6).
    expect(step({ model, mfu: 1 }, { ...decode(0), context_tokens: 0, attention_pairs: 0 })).toBeCloseTo(
      0.80004,
      9,
    );
    const slow = { model, gpu: { ...GPU, bf16_tflops: 100 } };
    expect(step(slow, { seqs: 2, decode_seqs: 2, tokens: 2 })).toBeCloseTo(1.1 + 0.00008, 9);
  });

  it("tensor parallelism divides the work and adds two all-reduces a layer", () => {
    // Work: 2.00004 / 2. 20 all-reduces of 2·(1/2)·1000·2 = 2000 bytes over 10^8 bytes/ms, and 5 us each.
    const one = step({ tensor_parallel_size: 2, allreduce_us: 5 }, { seqs: 1, tokens: 1 });
    expect(one).toBeCloseTo(1.00002 + 20 * (0.005 + 0.00002), 9);
  });

  it("pads to the CUDA graph's size, and runs eagerly beyond the largest", () => {
    const tokens = (n: number): Partial<StepWork> => ({ seqs: n, decode_seqs: n, tokens: n });
    // FLOPs of 8 for 5 tokens: 16 ms; eager exactly 10.
    expect(step({}, tokens(5))).toBeCloseTo(16, 9);
    expect(step({ enforce_eager: true }, tokens(5))).toBeCloseTo(10, 9);
    // Eager steps take at least 10 layers x 14 kernels x 100 us = 14 ms.
    expect(step({ enforce_eager: true, launch_us: 100 }, tokens(5))).toBeCloseTo(14, 9);
    expect(step({ launch_us: 100 }, tokens(5))).toBeCloseTo(16, 9);
    expect(step({ launch_us: 100 }, tokens(8))).toBeCloseTo(16, 9);
    expect(step({ launch_us: 100 }, tokens(9))).toBeCloseTo(18, 9);
  });

  it("adds overheads, hides transfers behind the compute, and divides by speed", () => {
    const config = { step_overhead_ms: 1, seq_overhead_us: 100, speed: 2 };
    // (2.00004 + 1 + 0.2) / 2.
    expect(step(config, { seqs: 2, tokens: 1 })).toBeCloseTo(1.60002, 9);
    // A block: 16 x 40,000 bytes over 10^7 bytes/ms: 0.064 ms. 100 loaded beside 150 evicted: 9.6 ms.
    expect(step({}, { seqs: 1, tokens: 1, load_blocks: 100, store_blocks: 150 })).toBeCloseTo(9.6, 9);
    expect(step({}, { seqs: 1, tokens: 1, load_blocks: 10 })).toBeCloseTo(2.00004, 9);
  });
});

describe("CUDA-graph sizes", () => {
  const sizes = (max_num_seqs: number): readonly number[] =>
    resolveCaptureSizes({ enforce_eager: false, cudagraph_capture_sizes: null, max_num_seqs });

  it("are vLLM's by default, up to twice the batch", () => {
    expect(sizes(8)).toEqual([1, 2, 4, 8, 16]);
    expect(sizes(1)).toEqual([1, 2]);
    expect(sizes(1000).slice(-3)).toEqual([480, 496, 512]);
    expect(sizes(1000)).toContain(248);
    expect(sizes(1000)).not.toContain(264);
  });

  it("are found by the smallest that holds the step", () => {
    expect([1, 2, 3, 8, 9].map((n) => graphSize([1, 2, 4, 8], n))).toEqual([1, 2, 4, 8, null]);
    expect(graphSize([], 1)).toBe(null);
    expect(
      resolveCaptureSizes({ enforce_eager: false, cudagraph_capture_sizes: [8, 2, 8], max_num_seqs: 1 }),
    ).toEqual([2, 8]);
  });
});

describe("what is known of hardware and models", () => {
  it("agrees with the models' names and published KV sizes", () => {
    expect(activeParameters(MODELS["qwen3-235b-a22b"] as ModelSpec) / 1e9).toBeCloseTo(22.2, 0);
    expect(activeParameters(MODELS["qwen3-30b-a3b"] as ModelSpec) / 1e9).toBeCloseTo(3.3, 0);
    // Llama 3.1 8B: 128 KiB a token in BF16; 70B: 320 KiB.
    expect(kvBytesPerToken(MODELS["llama-3.1-8b"] as ModelSpec, 2)).toBe(131_072);
    expect(kvBytesPerToken(MODELS["llama-3.3-70b"] as ModelSpec, 2)).toBe(327_680);
    expect(Object.keys(GPUS)).toEqual(expect.arrayContaining(["h200", "h100", "a100", "l40s"]));
  });

  it("gives speeds near public measurements: Llama 3.1 8B on an H100, 5.1 ms with CUDA graphs, 8.4 ms eagerly", () => {
    const alone = (enforce_eager: boolean): number =>
      stepTimer(resolveSimConfig({ gpu: "h100", enforce_eager, step_overhead_ms: 0 }))({
        ...emptyWork(),
        ...decode(100),
      });
    expect(Math.abs(alone(false) / 5.1 - 1)).toBeLessThan(0.15);
    expect(Math.abs(alone(true) / 8.4 - 1)).toBeLessThan(0.15);
  });
});

describe("the configuration", () => {
  const problem = (config: unknown): string => {
    try {
      resolveSimConfig(config);
    } catch (error) {
      if (error instanceof UserError) return error.message;
      throw error;
    }
    return "accepted";
  };

  it("derives the KV pool from memory, weights and activations", () => {
    const sim = resolveSimConfig({ ...UNIT, max_num_seqs: 10, max_num_batched_tokens: 1000 });
    // 900 GB − 2 − 2 − 1000·1000·32 bytes (0.032) − 10·1000·4 bytes − 4 graphs of 20 MB,
    // by 640,000 bytes a block.
    expect(sim.num_gpu_blocks).toBe(Math.floor((896e9 - 32e6 - 40_000 - 80e6) / 640_000));
    expect(sim.max_model_len).toBe(100_000);
    expect(sim.served_name).toBe("sim/unit-unit");
    expect(resolveSimConfig({ tensor_parallel_size: 2 }).served_name).toBe("sim/llama-3.1-8b-h200x2");
  });

  it("lowers the context to the KV cache, and says so, unless it was asked for", () => {
    const sim = resolveSimConfig({ num_gpu_blocks: 100 });
    expect(sim.max_model_len).toBe(1600);
    expect(sim.notes).toEqual(["max_model_len lowered from 131072 to the KV cache's 1600 tokens"]);
    expect(problem({ num_gpu_blocks: 100, max_model_len: 1601 })).toMatch(
      /1601 needs more than the KV cache of 1600/,
    );
  });

  it("simulates a context beyond the model's own, and says so", () => {
    const sim = resolveSimConfig({ max_model_len: 200_000 });
    expect(sim.max_model_len).toBe(200_000);
    expect(sim.notes).toEqual([
      "max_model_len 200000 is beyond the 131072 tokens llama-3.1-8b was published with",
    ]);
  });

  it("refuses what no server would start with", () => {
    expect(problem({ model: "gpt-9" })).toMatch(/no model "gpt-9"/);
    expect(problem({ gpu: "toString" })).toMatch(/no gpu "toString"/);
    expect(problem({ max_num_seqs: 0 })).toMatch(/max_num_seqs/);
    expect(problem({ max_num_sequences: 5 })).toMatch(/max_num_sequences/);
    expect(problem({ model: "llama-3.3-70b", gpu: "l4" })).toMatch(/leaves no KV cache/);
    expect(problem({ max_num_batched_tokens: 10, max_num_seqs: 11 })).toMatch(/below max_num_seqs/);
    expect(problem({ enable_chunked_prefill: false, max_num_batched_tokens: 1000 })).toMatch(
      /must reach max_model_len/,
    );
    expect(problem({})).toBe("accepted");
  });
});
