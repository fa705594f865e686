/** llama.cpp: `llama-server -m FILE.gguf`. */
import { join } from "node:path";
import {
  applyKnobs,
  boolean,
  integer,
  integerFlag,
  number,
  textFlag,
  toggle,
  type KnobRule,
} from "./knobs.ts";
import type { Launcher } from "./launcher.ts";
import { baseUrl, needModel, programOf } from "./program.ts";
import { valueOf } from "./vllm.ts";

const rules: Record<string, KnobRule> = {
  max_batch_size: integerFlag("-np"),
  max_batch_tokens: integerFlag("-b"),
  kv_cache_dtype: textFlag("-ctk", "-ctv"),
  cuda_graphs: (value, parts, name) => {
    if (!boolean(value, name)) parts.env["GGML_CUDA_DISABLE_GRAPHS"] = "1";
  },
  prefix_caching: toggle(["--cache-prompt"], ["--no-cache-prompt"]),
  host_offload_gb: (value, parts, name) => {
    parts.args.push("--cache-ram", String(Math.round(number(value, name) * 1024)));
  },
  context_length: integerFlag("-c", 0),
  parallel: integerFlag("-np"),
  batch_size: integerFlag("-b"),
  ubatch_size: integerFlag("-ub"),
  ctx_size: integerFlag("-c", 0),
  flash_attn: (value, parts, name) => {
    const word = value === true ? "on" : value === false ? "off" : value;
    textFlag("-fa")(word, parts, name);
  },
  cache_type_k: textFlag("-ctk"),
  cache_type_v: textFlag("-ctv"),
  cache_reuse: (value, parts, name) => {
    parts.args.push("--cache-reuse", String(integer(value, name, 0)));
  },
  gpu_layers: integerFlag("-ngl", 0),
  threads: integerFlag("-t"),
};

export const llamaCpp: Launcher = {
  name: "llama-cpp",
  title: "llama.cpp",
  knobs: Object.keys(rules),
  ready_timeout_ms: 600_000,
  command(spec, place) {
    const model = needModel(spec);
    const parts = applyKnobs("llama-cpp", rules, spec.knobs, "--no-");
    const args = [...parts.args, ...spec.args];
    const given = valueOf(args, "--alias") ?? valueOf(args, "-a");
    const alias = given?.split(",")[0] ?? (model.split("/").at(-1) as string);
    const base = baseUrl(spec.host, place.port);
    return {
      argv: [
        ...programOf(spec, ["llama-server"]),
        "-m",
        model,
        "--host",
        spec.host,
        "--port",
        String(place.port),
        "--metrics",
        ...(given === null ? ["--alias", alias] : []),
        // Without it the server refuses to erase a slot.
        ...(valueOf(args, "--slot-save-path") === null ? ["--slot-save-path", `${join(place.folder)}/`] : []),
        ...args,
      ],
      env: { ...parts.env, ...spec.env },
      files: {},
      base_url: base,
      metrics_url: `${base}/metrics`,
      health_path: "/health",
      model: alias,
      cache_reset: { kind: "llama-slots" },
      engine: "llama-cpp",
      gpus: null,
    };
  },
};
