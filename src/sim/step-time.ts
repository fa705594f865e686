/**
 * How long one engine step takes. Roofline (Williams, Waterman, Patterson, CACM 2009): a step is bound by arithmetic or
 * by memory, whichever takes longer.
 *
 *     gpu   = max(FLOPs / (peak·n·mfu), bytes / (bandwidth·n·mbu)) + all-reduce
 *     step  = max(gpu, launch, load / host link, store / host link) + overhead
 *
 * with n GPUs (tensor parallel), T scheduled tokens, T' = T padded to the CUDA graph's size, c a request's tokens
 * already in the cache and q its new ones:
 *
 * - FLOPs = 2·P_active·T' (a multiply and an add for each weight and token; Kaplan et al. 2020) + attention
 *   4·layers·heads·head_dim·Σ(q·c + q(q+1)/2) (QKᵀ and PV over the causal half).
 * - bytes = weights read once a step + KV read Σ(c + q) + KV written T, in bytes a token. Of a mixture's experts the
 *   step reads the share that at least one of T tokens chose, 1 − (1 − k/E)^T under even routing.
 * - all-reduce (n > 1), twice a layer (Shoeybi et al. 2019), ring: latency + 2(n−1)/n·T'·hidden·2 bytes / link.
 * - launch: an eager step cannot be faster than the host launches its kernels, layers·kernels·launch_us; a graph is one launch.
 * - load, store: KV blocks moved from and to host memory, in both directions at once, layer by layer beside the compute.
 * - overhead: step_overhead_ms + sequences·seq_overhead_us.
 *
 * All of it is divided by `speed`. The default shares of the peaks (mfu 0.55, mbu 0.85) and launches (14 kernels a layer,
 * 18 us each) are set so that Llama 3.1 8B on an H100 decodes alone in about 5.6 ms on the GPU and 8.1 ms eagerly; public
 * measurements give 5.1 and 8.4 ms. They are a model's, not your server's: compare configurations, do not promise numbers.
 */
import type { Ms } from "../core/units.ts";
import type { ResolvedSim } from "./config.ts";
import { graphSize } from "./cudagraph.ts";
import { activeParameters } from "./hardware.ts";

/** What one step has to do; filled by the scheduler. */
export interface StepWork {
  /** Sequences that get at least one token computed. */
  seqs: number;
  /** Of these: sequences that decode (one token each). */
  decode_seqs: number;
  /** Scheduled tokens, prefill and decode. */
  tokens: number;
  /** Σ over sequences of cached + new tokens. */
  context_tokens: number;
  /** Σ over sequences of q·c + q(q+1)/2. */
  attention_pairs: number;
  /** KV blocks read back from host memory, and evicted to it. */
  load_blocks: number;
  store_blocks: number;
}

/** A step without work. */
export function emptyWork(): StepWork {
  return {
    seqs: 0,
    decode_seqs: 0,
    tokens: 0,
    context_tokens: 0,
    attention_pairs: 0,
    load_blocks: 0,
    store_blocks: 0,
  };
}

/** Returns the function that gives a step's time, ms, for one configuration. */
export function stepTimer(sim: ResolvedSim): (work: StepWork) => Ms {
  const { config, model, gpu } = sim;
  const gpus = config.tensor_parallel_size;
  const bytes_per_weight = config.quantization === "fp8" ? 1 : 2;
  const tflops = config.quantization === "fp8" ? gpu.fp8_tflops : gpu.bf16_tflops;
  const flops_per_ms = tflops * 1e9 * gpus * config.mfu;
  const bytes_per_ms = gpu.memory_gb_s * 1e6 * gpus * config.mbu;
  const host_bytes_per_ms = gpu.host_gb_s * 1e6 * gpus * config.mbu;
  const link_bytes_per_ms = gpu.link_gb_s * 1e6 * config.mbu;
  const flops_per_token = 2 * activeParameters(model);
  const flops_per_pair = 4 * model.layers * model.heads * model.head_dim;
  const shared_bytes = (model.parameters - model.expert_parameters) * bytes_per_weight;
  const expert_bytes = model.expert_parameters * bytes_per_weight;
  const unused = model.experts === 0 ? 1 : 1 - model.experts_per_token / model.experts;
  const kv_bytes = sim.kv_bytes_per_token;
  const block_bytes = kv_bytes * config.block_size;
  const eager_ms = (model.layers * config.kernels_per_layer * config.launch_us) / 1000;
  const graph_ms = config.launch_us / 1000;
  const ring_bytes = ((2 * (gpus - 1)) / gpus) * model.hidden * 2;
  const allreduces = 2 * model.layers;
  const linear = config.linear_step;

  return (work) => {
    const transfer = (Math.max(work.load_blocks, work.store_blocks) * block_bytes) / host_bytes_per_ms;
    if (linear !== null) {
      const compute =
        linear.base_ms +
        linear.prefill_token_ms * (work.tokens - work.decode_seqs) +
        linear.decode_seq_ms * work.decode_seqs +
        linear.context_token_ms * work.context_tokens;
      return Math.max(compute, transfer) / config.speed;
    }
    const graph = graphSize(sim.capture_sizes, work.tokens);
    const padded = graph ?? work.tokens;
    const flops = flops_per_token * padded + flops_per_pair * work.attention_pairs;
    const experts = expert_bytes === 0 ? 0 : expert_bytes * (1 - unused ** work.tokens);
    const bytes = shared_bytes + experts + kv_bytes * (work.context_tokens + work.tokens);
    let gpu_ms = Math.max(flops / flops_per_ms, bytes / bytes_per_ms);
    if (gpus > 1) {
      gpu_ms += allreduces * (config.allreduce_us / 1000 + (ring_bytes * padded) / link_bytes_per_ms);
    }
    const overhead = config.step_overhead_ms + (work.seqs * config.seq_overhead_us) / 1000;
    return (Math.max(gpu_ms, graph === null ? eager_ms : graph_ms, transfer) + overhead) / config.speed;
  };
}
