/** FastDeploy: `python -m fastdeploy.entrypoints.openai.api_server`, metrics on a port of their own. */
import type { JsonValue } from "../../core/json.ts";
import {
  applyKnobs,
  boolean,
  CommandParts,
  fractionFlag,
  gpusOf,
  integer,
  integerFlag,
  numberFlag,
  toggle,
  type KnobRule,
} from "./knobs.ts";
import type { Launcher } from "./launcher.ts";
import { baseUrl, needModel, programOf } from "./program.ts";
import { valueOf } from "./vllm.ts";

/** Graph settings go out as one JSON object, whichever knobs they come from. */
function graph(key: string, check: (value: JsonValue, name: string) => JsonValue): KnobRule {
  return (value, parts, name) => {
    const config = (parts.config["graph"] ?? {}) as object;
    parts.config["graph"] = { ...config, [key]: check(value, name) };
  };
}

const rules: Record<string, KnobRule> = {
  max_batch_size: integerFlag("--max-num-seqs"),
  max_batch_tokens: integerFlag("--max-num-batched-tokens"),
  kv_cache_fraction: fractionFlag("--gpu-memory-utilization"),
  block_size: integerFlag("--block-size"),
  cuda_graphs: graph("use_cudagraph", boolean),
  chunked_prefill: toggle(["--enable-chunked-prefill"], ["--no-enable-chunked-prefill"]),
  prefix_caching: toggle(["--enable-prefix-caching"], ["--no-enable-prefix-caching"]),
  host_offload_gb: numberFlag("--swap-space"),
  context_length: integerFlag("--max-model-len"),
  tensor_parallel: integerFlag("--tensor-parallel-size"),
  data_parallel: integerFlag("--data-parallel-size"),
  max_num_seqs: integerFlag("--max-num-seqs"),
  max_num_batched_tokens: integerFlag("--max-num-batched-tokens"),
  gpu_memory_utilization: fractionFlag("--gpu-memory-utilization"),
  kv_cache_ratio: fractionFlag("--kv-cache-ratio"),
  graph_opt_level: graph("graph_opt_level", (value, name) => integer(value, name, 0)),
};

export const fastdeploy: Launcher = {
  name: "fastdeploy",
  title: "FastDeploy",
  knobs: Object.keys(rules),
  ready_timeout_ms: 1_800_000,
  command(spec, place) {
    const model = needModel(spec);
    const parts = applyKnobs("fastdeploy", rules, spec.knobs, "--no-", new CommandParts());
    const graphConfig = parts.config["graph"];
    const args = [
      ...parts.args,
      ...(graphConfig === undefined ? [] : ["--graph-optimization-config", JSON.stringify(graphConfig)]),
      ...spec.args,
    ];
    return {
      argv: [
        ...programOf(spec, ["python3", "-m", "fastdeploy.entrypoints.openai.api_server"]),
        "--model",
        model,
        "--host",
        spec.host,
        "--port",
        String(place.port),
        "--metrics-port",
        String(place.metrics_port),
        ...args,
      ],
      env: { ...parts.env, ...spec.env },
      files: {},
      base_url: baseUrl(spec.host, place.port),
      metrics_url: `${baseUrl(spec.host, place.metrics_port)}/metrics`,
      health_path: "/health",
      model: valueOf(args, "--served-model-name") ?? model,
      cache_reset: { kind: "none" },
      engine: "fastdeploy",
      gpus: gpusOf(args, [["--tensor-parallel-size", "-tp"], ["--data-parallel-size"]]),
    };
  },
};
