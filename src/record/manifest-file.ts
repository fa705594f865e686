/** Reads and writes `manifest.json`. */
import { join } from "node:path";
import { z } from "zod";
import { UserError } from "../core/failure.ts";
import { readText } from "../core/lines.ts";
import { type Manifest, RUN_FORMAT, type RunEnd } from "./manifest.ts";
import { overwriteFile } from "./atomic-file.ts";
import { runJson, writeRunJson } from "./run-folder.ts";

const text = z.string().nullable().default(null);
const number = z.number().nullable().default(null);
const optionalCount = z.number().nullable().optional();

const planSchema = z.looseObject({
  trace: text,
  trace_sha256: text,
  format: text,
  pacing: z.enum(["recorded", "jobs", "closed", "load"]),
  requests: z.number(),
  jobs: z.number(),
  span_ms: number,
  max_concurrency: number,
  max_concurrent_jobs: number,
  repeated: z.object({ jobs: z.number(), requests: z.number() }).optional(),
  speed: z.number().default(1),
  think_scale: z.number().default(1),
  gaps_capped: z.number().default(0),
  duration_ms: number,
  warmup_ms: z.number().default(0),
  optimal_hit_rate: number,
  optimal_cached_tokens: number,
  prompt_tokens: number,
  provenance: z.record(z.string(), z.string()).default({}),
  notes: z.array(z.string()).default([]),
  gpus: number,
  warmup_duplicates: optionalCount,
});

const healthSchema = z.looseObject({
  loop_stall_p99_ms: number,
  loop_stall_max_ms: number,
  loop_stall_streaming_max_ms: number,
  cpu_share: number,
  loop_utilisation: number,
  core_wait_share: z.number().nullable().optional(),
  gc_max_ms: z.number().nullable().optional(),
});

const endSchema = z.looseObject({
  ended_ms: z.number(),
  stopped_ms: z.number().nullable().optional(),
  interrupted: z.boolean(),
  not_sent: z.number(),
  overdue: z.number(),
  generator: healthSchema.prefault({}),
  engine: z.json().default(null),
  degraded: z.array(z.string()).optional(),
  lanes: z
    .array(healthSchema.extend({ requests: z.number(), jobs: z.number(), lost: z.string().nullable() }))
    .optional(),
});

const manifestSchema = z.looseObject({
  reprise_run: z.literal(RUN_FORMAT),
  id: z.string(),
  started_at: z.string(),
  t0_wall_ms: z.number(),
  command: z.enum(["replay", "bench", "demo", "sweep", "search"]),
  label: text,
  version: z.string().default("unknown"),
  host: z.looseObject({ platform: z.string(), node: z.string(), cpus: z.number(), name: z.string() }),
  options: z.record(z.string(), z.json()).default({}),
  seeds: z.record(z.string(), z.number()).default({}),
  target: z.looseObject({
    url: z.string(),
    model: z.string(),
    backend: z.string(),
    simulated: z.boolean(),
    server: z.record(z.string(), z.json()).nullable().default(null),
  }),
  plan: planSchema,
  tokenizer: z.looseObject({ source: z.string(), name: z.string(), warning: text }).nullable().default(null),
  metadata: z.record(z.string(), z.string()).default({}),
  end: endSchema.nullable().default(null),
});

/** Writes the manifest whole or not at all, secrets redacted. */
export function writeManifest(folder: string, manifest: Manifest): void {
  writeRunJson(folder, "manifest.json", manifest);
}

/** Writes the manifest once more, now with the run's end, and returns it. */
export function endManifest(folder: string, manifest: Manifest, end: RunEnd): Manifest {
  const ended: Manifest = { ...manifest, end };
  // Without its end a run looks killed, and the records that a full disk has lost look like requests never sent.
  overwriteFile(join(folder, "manifest.json"), runJson(ended));
  return ended;
}

/** Reads and checks a manifest. {@link UserError} for a folder without one, a damaged one, or one of a newer version. */
export async function readManifest(folder: string): Promise<Manifest> {
  const path = join(folder, "manifest.json");
  let content: string;
  try {
    content = await readText(path);
  } catch (error) {
    if (!(error instanceof UserError)) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code !== "ENOTDIR") throw error;
    }
    throw new UserError(`${folder}: not a run folder (no manifest.json can be read in it)`, {
      hint: "name the folder that a run wrote, e.g. runs/20260131-120000-trace-model",
      cause: error,
    });
  }
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (error) {
    throw new UserError(`${path}: not JSON: ${(error as Error).message}`, { cause: error });
  }
  const version = (value as { reprise_run?: unknown } | null)?.reprise_run;
  if (typeof version === "number" && version > RUN_FORMAT) {
    throw new UserError(
      `${path}: written by a newer version (run format ${version}; this one reads up to ${RUN_FORMAT})`,
      { hint: "update reprise" },
    );
  }
  const parsed = manifestSchema.safeParse(value);
  if (parsed.success) return parsed.data as unknown as Manifest;
  const issue = parsed.error.issues[0];
  throw new UserError(
    `${path}: not a run's manifest: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`,
  );
}
