import { describe, expect, it } from "vitest";
import { resolveSimConfig, simConfigSchema } from "./config.ts";
import { SIM_FLAGS, simConfigFromFlags } from "./flags.ts";
import { SIM_PRESETS } from "./presets.ts";

describe("the simulator's flags", () => {
  it("are one for each option, with its type and default", () => {
    expect(SIM_FLAGS.map(({ key }) => key)).toEqual(Object.keys(simConfigSchema.shape));
    const of = (key: string) => SIM_FLAGS.find((flag) => flag.key === key);
    expect(of("max_num_seqs")).toMatchObject({ flag: "--max-num-seqs", type: "int", default: 256 });
    expect(of("max_num_batched_tokens")).toMatchObject({ type: "int", default: null });
    expect(of("gpu_memory_utilization")).toMatchObject({ type: "number", default: 0.9 });
    expect(of("enforce_eager")).toMatchObject({ type: "boolean", default: false });
    expect(of("kv_cache_dtype")).toMatchObject({ type: "choice", choices: ["auto", "fp8"] });
    expect(of("cudagraph_capture_sizes")).toMatchObject({ type: "ints" });
    expect(of("model")).toMatchObject({ type: "string", default: "llama-3.1-8b" });
    expect(of("linear_step")).toMatchObject({ type: "json" });
    for (const flag of SIM_FLAGS) expect(flag.description).not.toBe(flag.key);
  });

  it("turn text into configuration", () => {
    const input = simConfigFromFlags({
      max_num_seqs: "4",
      cudagraph_capture_sizes: "1,2,4",
      enforce_eager: true,
      linear_step: '{"base_ms": 3}',
      gpu: "h100",
    });
    expect(resolveSimConfig(input)).toMatchObject({
      capture_sizes: [],
      gpu: { name: "h100" },
      config: { max_num_seqs: 4, cudagraph_capture_sizes: [1, 2, 4], linear_step: { base_ms: 3 } },
    });
    expect(() => simConfigFromFlags({ max_num_seqs: "four" })).toThrow(/--max-num-seqs: "four" is no int/);
    expect(() => simConfigFromFlags({ cudagraph_capture_sizes: "1,,2" })).toThrow(/list of numbers/);
    expect(() => resolveSimConfig(simConfigFromFlags({ max_num_seqs: "1.5" }))).toThrow(/max_num_seqs/);
  });

  it("presets are configurations a server would start with", () => {
    for (const { config } of Object.values(SIM_PRESETS)) {
      expect(resolveSimConfig(config).num_gpu_blocks).toBeGreaterThan(100);
    }
  });
});
