/** GPU figures from `nvidia-smi` or a DCGM exporter, where one is there. */
import { execFile } from "node:child_process";
import type { MetricSample } from "./prometheus-text.ts";

export interface GpuReading {
  readonly index: number;
  /** Share of time a kernel ran, 0–1. */
  readonly utilisation: number | null;
  readonly memory_used_mib: number | null;
  readonly memory_total_mib: number | null;
  readonly power_w: number | null;
}

const FIELDS = "index,utilization.gpu,memory.used,memory.total,power.draw";

/** Asks `nvidia-smi` once; `null` where it is not there or fails. */
export function readNvidiaSmi(program = "nvidia-smi"): Promise<GpuReading[] | null> {
  return new Promise((resolve) => {
    execFile(
      program,
      [`--query-gpu=${FIELDS}`, "--format=csv,noheader,nounits"],
      { timeout: 5_000 },
      (error, stdout) => resolve(error === null ? parseNvidiaSmi(stdout) : null),
    );
  });
}

/** Lines `0, 97, 71234, 81559, 612.30`; `[N/A]` and the like are `null`. */
export function parseNvidiaSmi(text: string): GpuReading[] {
  return text
    .split("\n")
    .map((line) => line.split(",").map((field) => field.trim()))
    .filter((fields) => fields.length === 5 && /^\d+$/.test(fields[0] as string))
    .map((fields) => {
      const [index, utilisation, used, total, power] = fields.map(figure);
      return {
        index: index as number,
        utilisation: share(utilisation ?? null),
        memory_used_mib: used ?? null,
        memory_total_mib: total ?? null,
        power_w: power ?? null,
      };
    });
}

/** The same from a DCGM exporter's metrics. */
export function readDcgm(samples: readonly MetricSample[]): GpuReading[] {
  const gpus = new Map<string, Map<string, number>>();
  for (const { name, labels, value } of samples) {
    const gpu = labels["gpu"];
    if (!name.startsWith("DCGM_FI_") || gpu === undefined) continue;
    const facts = gpus.get(gpu) ?? new Map<string, number>();
    facts.set(name, value);
    gpus.set(gpu, facts);
  }
  return [...gpus].map(([gpu, facts]) => {
    const used = facts.get("DCGM_FI_DEV_FB_USED") ?? null;
    const free = facts.get("DCGM_FI_DEV_FB_FREE") ?? null;
    return {
      index: Number(gpu),
      utilisation: share(facts.get("DCGM_FI_DEV_GPU_UTIL") ?? null),
      memory_used_mib: used,
      memory_total_mib: used === null || free === null ? null : used + free,
      power_w: facts.get("DCGM_FI_DEV_POWER_USAGE") ?? null,
    };
  });
}

function figure(text: string): number | null {
  const value = Number(text);
  return text === "" || !Number.isFinite(value) ? null : value;
}

function share(percent: number | null): number | null {
  return percent === null ? null : percent / 100;
}
