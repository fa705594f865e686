/** SGLang: `python -m sglang.launch_server`. */
import { UserError } from "../../core/failure.ts";
import {
  applyKnobs,
  fractionFlag,
  gpusOf,
  integerFlag,
  numberFlag,
  textFlag,
  toggle,
  type KnobRule,
} from "./knobs.ts";
import type { Launcher } from "./launcher.ts";
import { baseUrl, needModel, programOf } from "./program.ts";
import { valueOf } from "./vllm.ts";

const rules: Record<string, KnobRule> = {
  max_batch_size: integerFlag("--max-running-requests"),
  max_batch_tokens: integerFlag("--chunked-prefill-size"),
  kv_cache_fraction: fractionFlag("--mem-fraction-static"),
  kv_cache_dtype: textFlag("--kv-cache-dtype"),
  block_size: integerFlag("--page-size"),
  cuda_graphs: toggle([], ["--disable-cuda-graph"]),
  cuda_graph_max_batch: integerFlag("--cuda-graph-max-bs"),
  // On is SGLang's default; -1 is how it is switched off.
  chunked_prefill: toggle([], ["--chunked-prefill-size", "-1"]),
  prefix_caching: toggle([], ["--disable-radix-cache"]),
  host_offload_gb: (value, parts, name) => {
    if (value === 0) return;
    parts.args.push("--enable-hierarchical-cache");
    numberFlag("--hicache-size")(value, parts, name);
  },
  context_length: integerFlag("--context-length"),
  schedule_policy: textFlag("--schedule-policy"),
  tensor_parallel: integerFlag("--tp-size"),
  pipeline_parallel: integerFlag("--pp-size"),
  data_parallel: integerFlag("--dp-size"),
  max_running_requests: integerFlag("--max-running-requests"),
  chunked_prefill_size: integerFlag("--chunked-prefill-size", -1),
  max_prefill_tokens: integerFlag("--max-prefill-tokens"),
  mem_fraction_static: fractionFlag("--mem-fraction-static"),
  cuda_graph_max_bs: integerFlag("--cuda-graph-max-bs"),
  disable_cuda_graph: toggle(["--disable-cuda-graph"], []),
  disable_radix_cache: toggle(["--disable-radix-cache"], []),
};

export const sglang: Launcher = {
  name: "sglang",
  title: "SGLang",
  knobs: Object.keys(rules),
  ready_timeout_ms: 1_800_000,
  command(spec, place) {
    const model = needModel(spec);
    const { knobs } = spec;
    if (typeof knobs["max_batch_tokens"] === "number" && knobs["chunked_prefill"] === false) {
      throw new UserError(
        "sglang: max_batch_tokens sets the chunk size, so it cannot go with chunked_prefill: false",
        {
          hint: "use max_prefill_tokens for the token budget of unchunked prefills, or exclude that combination",
        },
      );
    }
    const parts = applyKnobs("sglang", rules, knobs);
    const args = [...parts.args, ...spec.args];
    const base = baseUrl(spec.host, place.port);
    return {
      argv: [
        ...programOf(spec, ["python3", "-m", "sglang.launch_server"]),
        "--model-path",
        model,
        "--host",
        spec.host,
        "--port",
        String(place.port),
        "--enable-metrics",
        ...args,
      ],
      env: { ...parts.env, ...spec.env },
      files: {},
      base_url: base,
      metrics_url: `${base}/metrics`,
      health_path: "/health",
      model: valueOf(args, "--served-model-name") ?? model,
      cache_reset: { kind: "post", path: "/flush_cache" },
      engine: "sglang",
      gpus: gpusOf(args, [
        ["--tp-size", "--tp", "--tensor-parallel-size"],
        ["--pp-size", "--pp", "--pipeline-parallel-size"],
        ["--dp-size", "--dp", "--data-parallel-size"],
      ]),
    };
  },
};
