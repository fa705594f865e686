/** vLLM: `vllm serve MODEL`. Flag names as of 0.12 and later; older ones can be given raw. */
import type { JsonValue } from "../../core/json.ts";
import {
  applyKnobs,
  boolean,
  fractionFlag,
  gpusOf,
  integer,
  integerFlag,
  jsonFlag,
  numberFlag,
  textFlag,
  toggle,
  type KnobRule,
} from "./knobs.ts";
import type { Launcher } from "./launcher.ts";
import { baseUrl, needModel, programOf } from "./program.ts";

const offload: KnobRule = (value, parts, name) => {
  if (value === 0) return;
  numberFlag("--kv-offloading-size")(value, parts, name);
  parts.args.push("--kv-offloading-backend", "native");
};

const rules: Record<string, KnobRule> = {
  max_batch_size: integerFlag("--max-num-seqs"),
  max_batch_tokens: integerFlag("--max-num-batched-tokens"),
  kv_cache_fraction: fractionFlag("--gpu-memory-utilization"),
  kv_cache_dtype: textFlag("--kv-cache-dtype"),
  block_size: integerFlag("--block-size"),
  cuda_graphs: (value, parts, name) => {
    if (!boolean(value, name)) parts.args.push("--enforce-eager");
  },
  cuda_graph_max_batch: integerFlag("--max-cudagraph-capture-size"),
  chunked_prefill: toggle(["--enable-chunked-prefill"], ["--no-enable-chunked-prefill"]),
  prefix_caching: toggle(["--enable-prefix-caching"], ["--no-enable-prefix-caching"]),
  host_offload_gb: offload,
  context_length: integerFlag("--max-model-len"),
  schedule_policy: textFlag("--scheduling-policy"),
  tensor_parallel: integerFlag("--tensor-parallel-size"),
  pipeline_parallel: integerFlag("--pipeline-parallel-size"),
  data_parallel: integerFlag("--data-parallel-size"),
  max_num_seqs: integerFlag("--max-num-seqs"),
  max_num_batched_tokens: integerFlag("--max-num-batched-tokens"),
  gpu_memory_utilization: fractionFlag("--gpu-memory-utilization"),
  enable_prefix_caching: toggle(["--enable-prefix-caching"], ["--no-enable-prefix-caching"]),
  enable_chunked_prefill: toggle(["--enable-chunked-prefill"], ["--no-enable-chunked-prefill"]),
  enforce_eager: toggle(["--enforce-eager"], []),
  cudagraph_capture_sizes: (value, parts, name) => {
    const sizes = Array.isArray(value) ? value : [value];
    parts.args.push("--cudagraph-capture-sizes");
    parts.args.push(...sizes.map((size: JsonValue) => String(integer(size, name))));
  },
  compilation_config: jsonFlag("--compilation-config"),
};

export const vllm: Launcher = {
  name: "vllm",
  title: "vLLM",
  knobs: Object.keys(rules),
  ready_timeout_ms: 1_800_000,
  command(spec, place) {
    const model = needModel(spec);
    const parts = applyKnobs("vllm", rules, spec.knobs, "--no-");
    const args = [...parts.args, ...spec.args];
    const served = valueOf(args, "--served-model-name") ?? model;
    return {
      argv: [
        ...programOf(spec, ["vllm", "serve"]),
        model,
        "--host",
        spec.host,
        "--port",
        String(place.port),
        ...args,
      ],
      // The endpoint that empties the prefix cache exists in this mode only.
      env: { VLLM_SERVER_DEV_MODE: "1", ...parts.env, ...spec.env },
      files: {},
      base_url: baseUrl(spec.host, place.port),
      metrics_url: `${baseUrl(spec.host, place.port)}/metrics`,
      health_path: "/health",
      model: served,
      cache_reset: { kind: "post", path: "/reset_prefix_cache" },
      engine: "vllm",
      gpus: gpusOf(args, [
        ["--tensor-parallel-size", "-tp"],
        ["--pipeline-parallel-size", "-pp"],
        ["--data-parallel-size", "-dp"],
      ]),
    };
  },
};

/** The value of a flag among arguments (`--k v` or `--k=v`), the last one; `null` if it is not there. */
export function valueOf(args: readonly string[], flag: string): string | null {
  let value: string | null = null;
  for (const [index, arg] of args.entries()) {
    if (arg === flag) value = args[index + 1] ?? null;
    else if (arg.startsWith(`${flag}=`)) value = arg.slice(flag.length + 1);
  }
  return value;
}
