/** The simulated engine: this program's own `sim` verb, as a server of its own process. */
import type { JsonValue } from "../../core/json.ts";
import { SIM_FLAGS } from "../../sim/flags.ts";
import { applyKnobs, boolean, integer, number, textFlag, type KnobRule } from "./knobs.ts";
import type { Knobs, Launcher } from "./launcher.ts";
import { baseUrl, programOf } from "./program.ts";
import { valueOf } from "./vllm.ts";

/** Common knob → key of the simulator's configuration, and how the value is told there. */
const SETTINGS: Readonly<Record<string, (value: JsonValue, name: string) => [string, JsonValue]>> = {
  max_batch_size: (value, name) => ["max_num_seqs", integer(value, name)],
  max_batch_tokens: (value, name) => ["max_num_batched_tokens", integer(value, name)],
  kv_cache_fraction: (value) => ["gpu_memory_utilization", value],
  kv_cache_dtype: (value) => ["kv_cache_dtype", value],
  block_size: (value, name) => ["block_size", integer(value, name)],
  cuda_graphs: (value, name) => ["enforce_eager", !boolean(value, name)],
  cuda_graph_max_batch: (value, name) => ["cudagraph_capture_sizes", captureSizes(integer(value, name))],
  chunked_prefill: (value, name) => ["enable_chunked_prefill", boolean(value, name)],
  prefix_caching: (value, name) => ["enable_prefix_caching", boolean(value, name)],
  host_offload_gb: (value, name) => ["host_cache_gb", number(value, name)],
  context_length: (value, name) => ["max_model_len", integer(value, name)],
  tensor_parallel: (value, name) => ["tensor_parallel_size", integer(value, name)],
};

function toFlag(key: string): KnobRule {
  const flag = `--${key.replaceAll("_", "-")}`;
  return (value, parts) => {
    if (typeof value === "boolean") parts.args.push(value ? flag : `--no-${flag.slice(2)}`);
    else if (Array.isArray(value)) parts.args.push(flag, value.join(","));
    else parts.args.push(flag, typeof value === "object" ? JSON.stringify(value) : String(value));
  };
}

const rules: Record<string, KnobRule> = {
  ...Object.fromEntries(SIM_FLAGS.map(({ key }) => [key, toFlag(key)])),
  preset: textFlag("--preset"),
  ...Object.fromEntries(
    Object.entries(SETTINGS).map(([knob, setting]): [string, KnobRule] => [
      knob,
      (value, parts, name) => {
        const [key, told] = setting(value, name);
        toFlag(key)(told, parts, name);
      },
    ]),
  ),
};

/** The knobs as settings of the in-process simulator: the same meaning, without a command line. */
export function simSettings(knobs: Knobs): Record<string, JsonValue> {
  // Refuses what the command line would refuse.
  applyKnobs("sim", rules, knobs);
  const settings: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(knobs)) {
    if (value === null || value === undefined) continue;
    const plain = name.replace(/^--/, "").replaceAll("-", "_");
    const [key, told] = SETTINGS[plain]?.(value, name) ?? [plain, value];
    settings[key] = told;
  }
  return settings;
}

export const sim: Launcher = {
  name: "sim",
  title: "the simulated engine",
  knobs: [...Object.keys(SETTINGS), "preset", ...SIM_FLAGS.map(({ key }) => key)],
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
      engine: "sim",
      gpus: Number.isInteger(tensor) && tensor > 0 ? tensor : null,
    };
  },
};

/** Powers of two up to the largest, which is always one of them. */
function captureSizes(largest: number): number[] {
  const sizes: number[] = [];
  for (let size = 1; size < largest; size *= 2) sizes.push(size);
  return [...sizes, largest];
}
