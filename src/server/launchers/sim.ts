/** The simulated engine: this program's own `sim` verb, as a server of its own process. */
import {
  applyKnobs,
  boolean,
  fractionFlag,
  integerFlag,
  numberFlag,
  textFlag,
  toggle,
  type KnobRule,
} from "./knobs.ts";
import type { Launcher } from "./launcher.ts";
import { baseUrl, programOf } from "./program.ts";
import { valueOf } from "./vllm.ts";

const rules: Record<string, KnobRule> = {
  max_batch_size: integerFlag("--max-num-seqs"),
  max_batch_tokens: integerFlag("--max-num-batched-tokens"),
  kv_cache_fraction: fractionFlag("--gpu-memory-utilization"),
  block_size: integerFlag("--block-size"),
  cuda_graphs: (value, parts, name) => {
    if (!boolean(value, name)) parts.args.push("--enforce-eager");
  },
  chunked_prefill: toggle([], ["--no-enable-chunked-prefill"]),
  prefix_caching: toggle([], ["--no-enable-prefix-caching"]),
  host_offload_gb: numberFlag("--host-offload-gb"),
  context_length: integerFlag("--max-model-len"),
  tensor_parallel: integerFlag("--tensor-parallel-size"),
  kv_cache_dtype: textFlag("--kv-cache-dtype"),
};

export const sim: Launcher = {
  name: "sim",
  title: "the simulated engine",
  knobs: Object.keys(rules),
  ready_timeout_ms: 30_000,
  command(spec, place) {
    const parts = applyKnobs("sim", rules, spec.knobs, "--no-");
    const args = [...parts.args, ...spec.args];
    const base = baseUrl(spec.host, place.port);
    const tensor = Number(valueOf(args, "--tensor-parallel-size") ?? "1");
    return {
      argv: [
        ...programOf(spec, [process.execPath, process.argv[1] ?? "dist/cli.js", "sim"]),
        "--host",
        spec.host,
        "--port",
        String(place.port),
        ...(spec.model === "" ? [] : ["--model", spec.model]),
        ...args,
      ],
      env: { ...parts.env, ...spec.env },
      files: {},
      base_url: base,
      metrics_url: `${base}/metrics`,
      health_path: "/health",
      // The simulator marks its model's name, so what it serves is asked of it.
      model: "",
      cache_reset: { kind: "post", path: "/reset_prefix_cache" },
      engine: "vllm",
      gpus: Number.isInteger(tensor) && tensor > 0 ? tensor : null,
    };
  },
};
