/**
 * The sections of `reprise.yaml` that only a sweep reads. All other keys are options of replay and bench, by their own
 * names, at the top level or grouped under `target`, `workload` and `objectives`.
 */
import { z } from "zod";

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
/** A knob's value: lists are values of one cell only inside `cells` and nested lists. */
const knobValue: z.ZodType = z.union([scalar, z.array(scalar), z.record(z.string(), z.json())]);
const duration = z.union([z.number().nonnegative(), z.string()]);

export const engineSchema = z
  .strictObject({
    type: z.string().describe("vllm, sglang, trtllm, fastdeploy, llama-cpp, sim, or command (any server)"),
    model: z.string().default("").describe("model the engine loads"),
    command: z
      .union([z.string(), z.array(z.string())])
      .nullable()
      .default(null)
      .describe(
        "the program in place of the usual one; for `command` the whole template, with {knob} placeholders",
      ),
    args: z
      .array(z.union([z.string(), z.number()]).transform(String))
      .default([])
      .describe("raw arguments, passed through"),
    env: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String))
      .default({})
      .describe("environment of the server; ${NAME} takes a secret from ours"),
    config: z
      .record(z.string(), z.json())
      .nullable()
      .default(null)
      .describe("base of the config file (trtllm)"),
    files: z
      .record(z.string(), z.union([z.string(), z.record(z.string(), z.json())]))
      .default({})
      .describe("files written for each configuration: name → text or YAML; {file.NAME} is the path"),
    shell: z.boolean().default(false).describe("run the command by /bin/sh"),
    host: z.string().default("127.0.0.1").describe("address the server listens on"),
    port: z.int().min(0).max(65_535).default(0).describe("port; 0 = any free one"),
    own_port: z
      .boolean()
      .default(true)
      .describe("the port must belong to the launched process; false for containers"),
    metrics_url: z
      .string()
      .nullable()
      .default(null)
      .describe("Prometheus metrics, where they are not at the usual place"),
    dcgm_url: z.string().nullable().default(null).describe("metrics of a DCGM exporter, for GPU figures"),
    ready_timeout: duration.nullable().default(null).describe("time to load the model"),
    stop_grace: duration.default("10s").describe("between TERM and KILL"),
    knobs: z.record(z.string(), knobValue).default({}).describe("knobs that are the same in every cell"),
  })
  .describe("the server that the sweep starts; without it, one that runs already is used");

export const sweepSections = {
  engine: engineSchema.nullable().default(null),
  grid: z
    .record(z.string(), z.union([z.array(knobValue), scalar]))
    .default({})
    .describe("dimension → values; every combination is a cell"),
  cells: z
    .union([
      z.array(z.record(z.string(), knobValue)),
      z.record(z.string(), z.record(z.string(), knobValue)),
      z.string(),
    ])
    .nullable()
    .default(null)
    .describe(
      "cells one by one (list, or name → knobs, or a JSON file of either); each is combined with the grid",
    ),
  link: z
    .array(z.array(z.string()).min(2))
    .default([])
    .describe("dimensions that change together: first values, second values, ..."),
  exclude: z
    .array(z.record(z.string(), knobValue))
    .default([])
    .describe("combinations to leave out; a list means any of"),
  repeats: z.int().min(1).max(1000).default(1).describe("runs of each cell"),
  order: z.enum(["random", "listed"]).default("random").describe("random spreads drift over the cells"),
  order_seed: z.int().min(0).default(0).describe("seed of the order"),
  cache: z
    .enum(["cold", "warm"])
    .default("cold")
    .describe(
      "cold: no run finds what another left in the prefix cache; warm: one unmeasured pass before each run",
    ),
  rank_by: z
    .enum([
      "auto",
      "jobs_per_hour",
      "jobs_per_hour_per_user",
      "mean_job_e2e",
      "p99_job_e2e",
      "output_tokens_per_s",
    ])
    .default("auto")
    .describe("what makes the winner among cells that meet the objectives"),
  budget: z.union([z.string(), z.number()]).optional().describe("time a job may take (job_budget)"),
  target: z.record(z.string(), z.json()).default({}).describe("options of the target"),
  workload: z.record(z.string(), z.json()).default({}).describe("options of the workload and its pacing"),
  objectives: z
    .union([z.array(z.string()), z.record(z.string(), z.json())])
    .default({})
    .describe("a list of objectives (slo), or the options slo, goodput, job_budget"),
} as const;

export const sweepSchema = z.strictObject(sweepSections);
export type SweepSections = z.output<typeof sweepSchema>;
export type EngineSection = z.output<typeof engineSchema>;
export const SWEEP_KEYS = Object.keys(sweepSections);
