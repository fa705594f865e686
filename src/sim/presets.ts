/** Named configurations, for the command line, the demo and the docs. Each is plain input to `simConfigSchema`. */
import type { SimConfigInput } from "./config.ts";

export interface SimPreset {
  readonly title: string;
  readonly config: SimConfigInput;
}

export const SIM_PRESETS: Readonly<Record<string, SimPreset>> = {
  "8b-h200": {
    title: "Llama 3.1 8B on one H200",
    config: { model: "llama-3.1-8b", gpu: "h200" },
  },
  "8b-l40s": {
    title: "Llama 3.1 8B on one L40S: little KV cache",
    config: { model: "llama-3.1-8b", gpu: "l40s", max_model_len: 65_536 },
  },
  "32b-h100": {
    title: "Qwen3 32B on two H100",
    config: { model: "qwen3-32b", gpu: "h100", tensor_parallel_size: 2 },
  },
  "70b-a100": {
    title: "Llama 3.3 70B on four A100",
    config: { model: "llama-3.3-70b", gpu: "a100", tensor_parallel_size: 4 },
  },
  "235b-gb200": {
    title: "Qwen3 235B-A22B in FP8 on four GB200",
    config: { model: "qwen3-235b-a22b", gpu: "gb200", tensor_parallel_size: 4, quantization: "fp8" },
  },
  tiny: {
    title: "Qwen2.5 0.5B on one L4: small and fast",
    config: { model: "qwen2.5-0.5b", gpu: "l4" },
  },
};
