/**
 * What the roofline needs to know of GPUs and models. GPU numbers are the vendor's data sheets (dense peaks, one
 * direction of a link); model numbers follow from the published `config.json` of each model.
 */
import { z } from "zod";

export const gpuSpecSchema = z.strictObject({
  name: z.string().min(1),
  /** Dense BF16 tensor peak, TFLOP/s. */
  bf16_tflops: z.number().positive(),
  /** Dense FP8 tensor peak, TFLOP/s; a GPU without FP8 units repeats its BF16 peak. */
  fp8_tflops: z.number().positive(),
  /** Memory, GB (10^9 bytes). */
  memory_gb: z.number().positive(),
  /** Memory bandwidth, GB/s. */
  memory_gb_s: z.number().positive(),
  /** GPU to GPU, one direction, GB/s (NVLink, or PCIe where there is none). */
  link_gb_s: z.number().positive(),
  /** GPU to host memory, one direction, GB/s. */
  host_gb_s: z.number().positive(),
});

/** One GPU, as its data sheet gives it. */
export type GpuSpec = z.infer<typeof gpuSpecSchema>;

export const modelSpecSchema = z.strictObject({
  name: z.string().min(1),
  /** All parameters. */
  parameters: z.number().positive(),
  /** Parameters in routed experts (0 for a dense model). */
  expert_parameters: z.number().nonnegative().default(0),
  /** Routed experts a layer, and how many of them a token uses. */
  experts: z.int().nonnegative().default(0),
  experts_per_token: z.int().nonnegative().default(0),
  layers: z.int().positive(),
  hidden: z.int().positive(),
  heads: z.int().positive(),
  kv_heads: z.int().positive(),
  head_dim: z.int().positive(),
  vocabulary: z.int().positive(),
  /** Longest context the model was published with, tokens. */
  context: z.int().positive(),
});

/** One decoder-only transformer. */
export type ModelSpec = z.infer<typeof modelSpecSchema>;

function gpu(
  name: string,
  bf16_tflops: number,
  fp8_tflops: number,
  memory_gb: number,
  memory_gb_s: number,
  link_gb_s: number,
  host_gb_s: number,
): GpuSpec {
  return { name, bf16_tflops, fp8_tflops, memory_gb, memory_gb_s, link_gb_s, host_gb_s };
}

/**
 * Data sheets: NVIDIA H200, H100 SXM5, A100 80GB SXM4, L40S, L4, B200 (DGX B200, per GPU), GB200 (NVL72, per GPU). Sheets that print
 * peaks "with sparsity" are halved. PCIe 4.0 x16 is 32 GB/s and 5.0 x16 is 64 GB/s a direction; GB200 reaches its host
 * over NVLink-C2C (450 GB/s a direction). L40S and L4 have no NVLink: GPU to GPU is PCIe.
 */
export const GPUS: Readonly<Record<string, GpuSpec>> = {
  h200: gpu("h200", 989, 1979, 141, 4800, 450, 64),
  h100: gpu("h100", 989, 1979, 80, 3350, 450, 64),
  a100: gpu("a100", 312, 312, 80, 2039, 300, 32),
  l40s: gpu("l40s", 362, 733, 48, 864, 32, 32),
  l4: gpu("l4", 121, 242, 24, 300, 32, 32),
  b200: gpu("b200", 2250, 4500, 180, 8000, 900, 64),
  gb200: gpu("gb200", 2500, 5000, 186, 8000, 900, 450),
};

const dense = { expert_parameters: 0, experts: 0, experts_per_token: 0 };

/**
 * Sizes from each model's published configuration. Expert parameters of a mixture = layers x experts x 3 x hidden x
 * expert intermediate size: qwen3-235b-a22b 94 x 128 x 3 x 4096 x 1536, qwen3-30b-a3b 48 x 128 x 3 x 2048 x 768.
 */
export const MODELS: Readonly<Record<string, ModelSpec>> = {
  "qwen2.5-0.5b": {
    name: "qwen2.5-0.5b",
    parameters: 0.494e9,
    ...dense,
    layers: 24,
    hidden: 896,
    heads: 14,
    kv_heads: 2,
    head_dim: 64,
    vocabulary: 151_936,
    context: 32_768,
  },
  "llama-3.1-8b": {
    name: "llama-3.1-8b",
    parameters: 8.03e9,
    ...dense,
    layers: 32,
    hidden: 4096,
    heads: 32,
    kv_heads: 8,
    head_dim: 128,
    vocabulary: 128_256,
    context: 131_072,
  },
  "qwen3-32b": {
    name: "qwen3-32b",
    parameters: 32.8e9,
    ...dense,
    layers: 64,
    hidden: 5120,
    heads: 64,
    kv_heads: 8,
    head_dim: 128,
    vocabulary: 151_936,
    context: 131_072,
  },
  "llama-3.3-70b": {
    name: "llama-3.3-70b",
    parameters: 70.6e9,
    ...dense,
    layers: 80,
    hidden: 8192,
    heads: 64,
    kv_heads: 8,
    head_dim: 128,
    vocabulary: 128_256,
    context: 131_072,
  },
  "qwen3-30b-a3b": {
    name: "qwen3-30b-a3b",
    parameters: 30.5e9,
    expert_parameters: 48 * 128 * 3 * 2048 * 768,
    experts: 128,
    experts_per_token: 8,
    layers: 48,
    hidden: 2048,
    heads: 32,
    kv_heads: 4,
    head_dim: 128,
    vocabulary: 151_936,
    context: 262_144,
  },
  "qwen3-235b-a22b": {
    name: "qwen3-235b-a22b",
    parameters: 235.1e9,
    expert_parameters: 94 * 128 * 3 * 4096 * 1536,
    experts: 128,
    experts_per_token: 8,
    layers: 94,
    hidden: 4096,
    heads: 64,
    kv_heads: 4,
    head_dim: 128,
    vocabulary: 151_936,
    context: 262_144,
  },
};

/** Parameters that one token passes through: all of a dense model, the routed share of a mixture. */
export function activeParameters(model: ModelSpec): number {
  if (model.experts === 0) return model.parameters;
  const routed = (model.expert_parameters * model.experts_per_token) / model.experts;
  return model.parameters - model.expert_parameters + routed;
}

/** KV cache of one token over all layers, bytes: 2 (K and V) x layers x KV heads x head size x bytes a value. */
export function kvBytesPerToken(model: ModelSpec, bytes_per_value: number): number {
  return 2 * model.layers * model.kv_heads * model.head_dim * bytes_per_value;
}
