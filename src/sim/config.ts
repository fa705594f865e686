/**
 * The simulated engine's options: names and defaults follow vLLM's flags where vLLM has one. `simConfigSchema` is the
 * one definition; flags (`SIM_FLAGS`), YAML and code all go through it. `resolveSimConfig` derives what follows from
 * it (KV pool, context limit, graph sizes) and refuses what a server would refuse at its start.
 */
import { z } from "zod";
import { UserError } from "../core/failure.ts";
import { resolveCaptureSizes } from "./cudagraph.ts";
import {
  GPUS,
  MODELS,
  gpuSpecSchema,
  kvBytesPerToken,
  modelSpecSchema,
  type GpuSpec,
  type ModelSpec,
} from "./hardware.ts";

const nonNegative = z.number().nonnegative();

/** A step time that is a plain sum instead of the roofline: to imitate a server that was measured, and for tests. */
export const linearStepSchema = z.strictObject({
  base_ms: nonNegative.default(0),
  prefill_token_ms: nonNegative.default(0),
  /** For each sequence that decodes. */
  decode_seq_ms: nonNegative.default(0),
  /** For each token of KV cache that is read. */
  context_token_ms: nonNegative.default(0),
});

export const faultSchema = z.strictObject({
  /** Share of requests (0 to 1) that get `fail_status`. Seeded. */
  fail_rate: z.number().min(0).max(1).default(0),
  fail_status: z.int().min(400).max(599).default(500),
  /** The first n requests get 503. */
  first_failures: z.int().nonnegative().default(0),
  /** Share of streams that end by a closed socket after `truncate_after_tokens` tokens. Seeded. */
  truncate_rate: z.number().min(0).max(1).default(0),
  truncate_after_tokens: z.int().positive().default(1),
  /** Held before a request reaches the engine. */
  slow_start_ms: nonNegative.default(0),
  /** After this many requests the server goes away: every socket and the port are closed. */
  crash_after: z.int().positive().nullable().default(null),
});

export const simConfigSchema = z.strictObject({
  model: z
    .union([z.string(), modelSpecSchema])
    .default("llama-3.1-8b")
    .describe(`simulated model: ${Object.keys(MODELS).join(", ")}`),
  gpu: z
    .union([z.string(), gpuSpecSchema])
    .default("h200")
    .describe(`simulated GPU: ${Object.keys(GPUS).join(", ")}`),
  tensor_parallel_size: z.int().min(1).max(64).default(1).describe("GPUs one model is spread over"),
  served_model_name: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe("name in the API; sim/ is put before it"),
  max_model_len: z.int().positive().nullable().default(null).describe("longest prompt + output, tokens"),
  max_num_seqs: z.int().positive().default(256).describe("largest batch: sequences a step"),
  max_num_batched_tokens: z
    .int()
    .positive()
    .nullable()
    .default(null)
    .describe("token budget of a step (8192; without chunked prefill at least the context limit)"),
  enable_chunked_prefill: z.boolean().default(true).describe("split long prompts over steps"),
  enable_prefix_caching: z.boolean().default(true).describe("reuse KV blocks of equal prefixes"),
  block_size: z.int().min(1).max(1024).default(16).describe("tokens of a KV block"),
  gpu_memory_utilization: z.number().gt(0).max(1).default(0.9).describe("share of GPU memory that is used"),
  num_gpu_blocks: z.int().positive().nullable().default(null).describe("KV blocks, instead of the memory's"),
  kv_cache_dtype: z.enum(["auto", "fp8"]).default("auto").describe("KV cache: bf16 or fp8"),
  quantization: z.enum(["none", "fp8"]).default("none").describe("weights: bf16 or fp8"),
  host_cache_gb: nonNegative.default(0).describe("host memory for evicted KV blocks, GB"),
  host_cache_blocks: z
    .int()
    .nonnegative()
    .nullable()
    .default(null)
    .describe("the same in blocks, instead of GB"),
  enforce_eager: z.boolean().default(false).describe("no CUDA graphs"),
  cudagraph_capture_sizes: z
    .array(z.int().positive())
    .nullable()
    .default(null)
    .describe("batch sizes with a CUDA graph"),
  cudagraph_mb: nonNegative.default(20).describe("GPU memory of one captured CUDA graph, MB"),
  mfu: z.number().gt(0).max(1).default(0.55).describe("share of peak FLOP/s that is reached"),
  mbu: z.number().gt(0).max(1).default(0.85).describe("share of peak bandwidths that is reached"),
  step_overhead_ms: nonNegative.default(0.8).describe("scheduling and sampling, a step"),
  seq_overhead_us: nonNegative.default(10).describe("scheduling and sampling, a sequence and step"),
  launch_us: nonNegative.default(18).describe("launch of one kernel by the framework (eager steps)"),
  kernels_per_layer: z.int().positive().default(14).describe("kernels of one layer (eager steps)"),
  allreduce_us: nonNegative.default(12).describe("latency of one all-reduce"),
  linear_step: linearStepSchema.nullable().default(null),
  mean_output_tokens: z.number().positive().default(250).describe("mean natural length of an answer"),
  speed: z.number().positive().default(1).describe("engine runs this many times faster"),
  startup_ms: nonNegative.default(0).describe("/health says 503 for this long"),
  faults: faultSchema.nullable().default(null),
});

/** As written by a person: everything optional. */
export type SimConfigInput = z.input<typeof simConfigSchema>;
export type SimConfig = z.output<typeof simConfigSchema>;
export type FaultConfig = z.output<typeof faultSchema>;
export type LinearStep = z.output<typeof linearStepSchema>;

/** A configuration with everything that follows from it. */
export interface ResolvedSim {
  readonly config: SimConfig;
  readonly model: ModelSpec;
  readonly gpu: GpuSpec;
  /** `sim/<model>-<gpu>[x<n>]`, or `sim/` and the name that was asked for: it always says that it is simulated. */
  readonly served_name: string;
  /** Names a request may use: the served one, and the one asked for as it was. */
  readonly model_names: readonly string[];
  readonly max_model_len: number;
  readonly max_num_batched_tokens: number;
  readonly num_gpu_blocks: number;
  readonly host_blocks: number;
  /** Over all GPUs. */
  readonly kv_bytes_per_token: number;
  readonly capture_sizes: readonly number[];
  /** What was chosen for the user, one line each. */
  readonly notes: readonly string[];
}

function named<T>(value: string | T, table: Readonly<Record<string, T>>, option: string): T {
  if (typeof value !== "string") return value;
  const found = Object.hasOwn(table, value) ? table[value] : undefined;
  if (found !== undefined) return found;
  throw new UserError(`the simulator knows no ${option} "${value}"`, {
    hint: `one of ${Object.keys(table).join(", ")}`,
  });
}

/**
 * Bytes that are left for the KV cache, over all GPUs: memory x utilization − weights − 2 GB a GPU for the runtime −
 * captured graphs on every GPU − peak activations (budget x 16 hidden values in BF16, as a profile run of the budget
 * would see) − logits (FP32).
 */
function kvBudgetBytes(
  config: SimConfig,
  model: ModelSpec,
  gpu: GpuSpec,
  budget: number,
  graphs: number,
): number {
  const gpus = config.tensor_parallel_size;
  const memory = gpu.memory_gb * 1e9 * config.gpu_memory_utilization * gpus;
  const weights = model.parameters * (config.quantization === "fp8" ? 1 : 2);
  const fixed = gpus * (2e9 + graphs * config.cudagraph_mb * 1e6);
  const activations = budget * model.hidden * 16 * 2;
  const logits = config.max_num_seqs * model.vocabulary * 4;
  return memory - weights - fixed - activations - logits;
}

function modelNames(
  config: SimConfig,
  model: ModelSpec,
  gpu: GpuSpec,
): Pick<ResolvedSim, "served_name" | "model_names"> {
  const gpus = config.tensor_parallel_size;
  const asked = config.served_model_name ?? `sim/${model.name}-${gpu.name}${gpus > 1 ? `x${gpus}` : ""}`;
  const served_name = asked.startsWith("sim/") ? asked : `sim/${asked}`;
  return { served_name, model_names: [...new Set([served_name, asked])] };
}

/** Checks options and derives the rest. Throws a {@link UserError} for what a server would refuse at its start. */
export function resolveSimConfig(input: unknown = {}): ResolvedSim {
  const parsed = simConfigSchema.safeParse(input);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const where = issue === undefined ? "" : issue.path.join(".");
    throw new UserError(`simulator: ${where === "" ? "" : `${where}: `}${issue?.message ?? "bad options"}`, {
      hint: "see `reprise sim --help`",
    });
  }
  const config = parsed.data;
  const model = named(config.model, MODELS, "model");
  const gpu = named(config.gpu, GPUS, "gpu");
  const notes: string[] = [];
  const wanted = config.max_model_len ?? model.context;
  if (wanted > model.context) {
    notes.push(
      `max_model_len ${wanted} is beyond the ${model.context} tokens ${model.name} was published with`,
    );
  }
  const budget =
    config.max_num_batched_tokens ?? (config.enable_chunked_prefill ? 8192 : Math.max(8192, wanted));
  if (budget < config.max_num_seqs) {
    throw new UserError(`max_num_batched_tokens ${budget} is below max_num_seqs ${config.max_num_seqs}`);
  }
  const capture_sizes = resolveCaptureSizes(config);
  const kv_bytes = kvBytesPerToken(model, config.kv_cache_dtype === "fp8" ? 1 : 2);
  const block_bytes = kv_bytes * config.block_size;
  const blocks =
    config.num_gpu_blocks ??
    Math.floor(kvBudgetBytes(config, model, gpu, budget, capture_sizes.length) / block_bytes);
  if (blocks < 1) {
    throw new UserError(
      `${model.name} leaves no KV cache on ${config.tensor_parallel_size} x ${gpu.name} (${gpu.memory_gb} GB)`,
      { hint: "raise tensor_parallel_size or gpu_memory_utilization, or use quantization fp8" },
    );
  }
  const capacity = blocks * config.block_size;
  let limit = wanted;
  if (capacity < wanted) {
    if (config.max_model_len !== null) {
      throw new UserError(`max_model_len ${wanted} needs more than the KV cache of ${capacity} tokens`, {
        hint: "lower max_model_len or raise gpu_memory_utilization",
      });
    }
    limit = capacity;
    notes.push(`max_model_len lowered from ${wanted} to the KV cache's ${capacity} tokens`);
  }
  if (!config.enable_chunked_prefill && budget < limit) {
    throw new UserError(
      `without chunked prefill max_num_batched_tokens ${budget} must reach max_model_len ${limit}`,
    );
  }
  return {
    config,
    model,
    gpu,
    ...modelNames(config, model, gpu),
    max_model_len: limit,
    max_num_batched_tokens: budget,
    num_gpu_blocks: blocks,
    host_blocks: config.host_cache_blocks ?? Math.floor((config.host_cache_gb * 1e9) / block_bytes),
    kv_bytes_per_token: kv_bytes,
    capture_sizes,
    notes,
  };
}
