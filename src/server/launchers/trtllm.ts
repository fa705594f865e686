/**
 * TensorRT-LLM: `trtllm-serve MODEL --config FILE`. CUDA graphs and the KV cache are set in the config file only, so one
 * is written for each configuration; batch size and token budget go there too, so that the file alone tells the
 * configuration. A name with dots (`cuda_graph_config.batch_sizes`) reaches any place in it.
 */
import { join } from "node:path";
import { stringify } from "yaml";
import { UserError } from "../../core/failure.ts";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import {
  applyKnobs,
  boolean,
  CommandParts,
  fraction,
  gpusOf,
  integer,
  number,
  text,
  type KnobRule,
} from "./knobs.ts";
import type { Launcher } from "./launcher.ts";
import { baseUrl, needModel, programOf } from "./program.ts";
import { valueOf } from "./vllm.ts";

const CONFIG_ROOTS = [
  "cuda_graph_config",
  "kv_cache_config",
  "scheduler_config",
  "moe_config",
  "speculative_config",
];

function setting(path: string, check: (value: JsonValue, name: string) => JsonValue): KnobRule {
  return (value, parts, name) => setPath(parts.config, path.split("."), check(value, name), name);
}

const rules: Record<string, KnobRule> = {
  max_batch_size: setting("max_batch_size", integer),
  max_batch_tokens: setting("max_num_tokens", integer),
  kv_cache_fraction: setting("kv_cache_config.free_gpu_memory_fraction", fraction),
  kv_cache_dtype: setting("kv_cache_config.dtype", text),
  block_size: setting("kv_cache_config.tokens_per_block", integer),
  cuda_graphs: (value, parts, name) => {
    // Off is an explicit null; on keeps what other knobs or the base file say of it.
    if (!boolean(value, name)) parts.config["cuda_graph_config"] = null;
    else if ((parts.config["cuda_graph_config"] ?? null) === null)
      parts.config["cuda_graph_config"] = { enable_padding: true };
  },
  cuda_graph_max_batch: setting("cuda_graph_config.max_batch_size", integer),
  chunked_prefill: setting("enable_chunked_prefill", boolean),
  prefix_caching: setting("kv_cache_config.enable_block_reuse", boolean),
  host_offload_gb: setting("kv_cache_config.host_cache_size", (value, name) =>
    Math.round(number(value, name) * 2 ** 30),
  ),
  context_length: setting("max_seq_len", integer),
  schedule_policy: setting("scheduler_config.capacity_scheduler_policy", text),
  tensor_parallel: (value, parts, name) => parts.args.push("--tp_size", String(integer(value, name))),
  pipeline_parallel: (value, parts, name) => parts.args.push("--pp_size", String(integer(value, name))),
  max_num_tokens: setting("max_num_tokens", integer),
  max_seq_len: setting("max_seq_len", integer),
  kv_cache_free_gpu_memory_fraction: setting("kv_cache_config.free_gpu_memory_fraction", fraction),
  enable_chunked_prefill: setting("enable_chunked_prefill", boolean),
  cuda_graph_config: (value, parts) => {
    parts.config["cuda_graph_config"] = value;
  },
  kv_cache_config: setting("kv_cache_config", (value, name) => {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new UserError(`${name} must be an object`);
    return value;
  }),
};

export const trtllm: Launcher = {
  name: "trtllm",
  title: "TensorRT-LLM",
  knobs: Object.keys(rules),
  ready_timeout_ms: 1_800_000,
  command(spec, place) {
    const model = needModel(spec);
    const parts = new CommandParts();
    // Timings of each request and Prometheus metrics are off by default.
    const base: JsonObject = { return_perf_metrics: true, perf_metrics_max_requests: 10_000, ...spec.config };
    Object.assign(parts.config, structuredClone(base));
    const plain: Record<string, JsonValue> = {};
    const dotted: [string, JsonValue][] = [];
    for (const [name, value] of Object.entries(spec.knobs)) {
      if (value === undefined) continue;
      if (!name.startsWith("-") && name.includes(".")) dotted.push([name, value]);
      else plain[name] = value;
    }
    // Off is applied last: it wins over settings of the graphs it switches off, whatever their order.
    const ordered = Object.entries(plain).sort(([a], [b]) => rank(a) - rank(b));
    applyKnobs("trtllm", rules, Object.fromEntries(ordered), null, parts);
    for (const [name, value] of dotted) {
      const path = name.split(".");
      if (!CONFIG_ROOTS.includes(path[0] as string) && !Object.hasOwn(parts.config, path[0] as string))
        throw new UserError(`trtllm: "${name}" leads nowhere in the config file`, {
          hint: `sections: ${CONFIG_ROOTS.join(", ")}; others can be begun in engine.config`,
        });
      setPath(parts.config, path, value, name);
    }
    const file = join(place.folder, "trtllm-config.yaml");
    const args = [...parts.args, ...spec.args];
    const older = spec.args.some((arg) => arg.startsWith("--extra_llm_api_options"));
    if (older || valueOf(args, "--config") !== null)
      throw new UserError(
        "trtllm: the config file is written for each configuration, so --config cannot be given",
        {
          hint: "put its content under engine.config; for older versions set engine.config.config_flag: --extra_llm_api_options",
        },
      );
    const { config_flag: flag = "--config", ...content } = parts.config;
    if (typeof flag !== "string") throw new UserError("engine.config.config_flag must be a flag's name");
    const url = baseUrl(spec.host, place.port);
    const configured = (name: string): string[] =>
      typeof content[name] === "number" ? [`--${name}`, String(content[name])] : [];
    return {
      argv: [
        ...programOf(spec, ["trtllm-serve"]),
        model,
        "--host",
        spec.host,
        "--port",
        String(place.port),
        flag,
        file,
        ...args,
      ],
      env: { ...parts.env, ...spec.env },
      files: { [file]: stringify(content) },
      base_url: url,
      metrics_url: `${url}/prometheus/metrics`,
      health_path: "/health",
      model: valueOf(args, "--served_model_name") ?? servedName(model),
      cache_reset: { kind: "none" },
      engine: "trtllm",
      gpus: gpusOf(
        [...configured("tensor_parallel_size"), ...configured("pipeline_parallel_size"), ...args],
        [
          ["--tensor_parallel_size", "--tp_size"],
          ["--pipeline_parallel_size", "--pp_size"],
        ],
      ),
    };
  },
};

function rank(name: string): number {
  return name === "cuda_graphs" ? 1 : 0;
}

/** trtllm-serve calls a model in a local folder by the folder's name. */
function servedName(model: string): string {
  return model.startsWith("/") || model.startsWith(".")
    ? (model.replace(/\/+$/, "").split("/").at(-1) ?? model)
    : model;
}

function setPath(
  into: Record<string, JsonValue>,
  path: readonly string[],
  value: JsonValue,
  name: string,
): void {
  const [key, ...rest] = path;
  if (key === undefined || key === "" || key === "__proto__")
    throw new UserError(`"${name}" is not a path of keys`);
  if (rest.length === 0) {
    into[key] = value;
    return;
  }
  const inner = into[key];
  if (inner !== undefined && inner !== null && (typeof inner !== "object" || Array.isArray(inner)))
    throw new UserError(`${name}: ${key} is ${JSON.stringify(inner)}, not a section`);
  const copy: Record<string, JsonValue> = { ...(inner as Record<string, JsonValue> | null | undefined) };
  into[key] = copy;
  setPath(copy, rest, value, name);
}
