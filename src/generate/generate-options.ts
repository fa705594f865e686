/** What `reprise generate` can be told: one schema for flags and files, and the table that makes flags of it. */
import { z } from "zod";
import type { Ms } from "../core/units.ts";
import { UserError } from "../core/failure.ts";
import { parseDistribution } from "./distribution.ts";
import { findConflict } from "./flag-conflicts.ts";

export const PRESET_NAMES = ["coder", "planner", "rewriter", "tree-of-thoughts"] as const;
export type PresetName = (typeof PRESET_NAMES)[number];
const ARRIVAL_NAMES = ["uniform", "poisson", "bursts", "daily"] as const;

const distribution = z.string().superRefine((text, context) => {
  try {
    parseDistribution(text, "");
  } catch (error) {
    const { message, hint } = error as UserError;
    context.addIssue({ code: "custom", message: message.replace(/^: /, ""), params: { hint } });
  }
});
const count = z.number().int();

/**
 * Options of a generated trace. `null` = the preset's own value, or where there is no preset the plain agent's. The names
 * and defaults of the first block are those of the agentic plan's generator.
 */
export const generateOptionsSchema = z
  .strictObject({
    numJobs: count.min(1).default(200),
    minTurns: count.min(1).default(1),
    maxTurns: count.min(1).default(5),
    promptTokensMin: count.min(1).default(200),
    promptTokensMax: count.min(1).default(2000),
    maxTokensMin: count.min(1).default(64),
    maxTokensMax: count.min(1).default(512),
    targetTokPerS: z.number().positive().default(50),
    thinkMsMin: z.number().min(0).default(50),
    thinkMsMax: z.number().min(0).default(500),
    seed: z.union([count, z.string()]).default(0),

    preset: z.enum(PRESET_NAMES).nullable().default(null),
    turns: distribution.nullable().default(null),
    promptTokens: distribution.nullable().default(null),
    outputTokens: distribution.nullable().default(null),
    thinkMs: distribution.nullable().default(null),
    toolMs: distribution.nullable().default(null),
    toolShare: z.number().min(0).max(1).nullable().default(null),
    grow: z.boolean().nullable().default(null),
    systemTokens: count.min(0).nullable().default(null),
    briefTokens: distribution.nullable().default(null),
    jobSigma: z.number().min(0).nullable().default(null),
    fanOut: distribution.nullable().default(null),
    compactAt: count.min(1).nullable().default(null),
    blockTokens: count.min(1).default(64),
    budgetMs: z.number().positive().nullable().default(null),

    spanMs: z.number().min(0).default(60_000),
    arrivals: z.enum(ARRIVAL_NAMES).default("uniform"),
    burstSize: distribution.default("uniform(5,20)"),
    dayMs: z.number().positive().default(86_400_000),
    peakToTrough: z.number().min(1).default(4),
    servegen: z.string().nullable().default(null),
    servegenDataset: z.string().nullable().default(null),
    servegenFromS: z.number().min(0).nullable().default(null),
  })
  .superRefine((options, context) => {
    for (const [low, high] of [
      ["minTurns", "maxTurns"],
      ["promptTokensMin", "promptTokensMax"],
      ["maxTokensMin", "maxTokensMax"],
      ["thinkMsMin", "thinkMsMax"],
    ] as const) {
      if (options[low] > options[high])
        context.addIssue({
          code: "custom",
          path: [low],
          message: `${options[low]} is above ${flagOf(high)} ${options[high]}`,
        });
    }
  });

export type GenerateOptions = z.infer<typeof generateOptionsSchema>;
const DEFAULTS = generateOptionsSchema.parse({});

export interface GenerateFlag {
  readonly key: keyof GenerateOptions;
  /** As on the command line. */
  readonly flag: string;
  /** How its value is read: `duration` is milliseconds after `parseDuration`, `switch` takes none. */
  readonly value: "integer" | "number" | "text" | "distribution" | "duration" | "switch" | "choice" | "seed";
  readonly choices?: readonly string[];
  readonly help: string;
}

/** In the order of the help; defaults come from the schema. */
export const GENERATE_FLAGS: readonly GenerateFlag[] = withDefaults([
  { key: "numJobs", flag: "--num-jobs", value: "integer", help: "how many jobs" },
  { key: "minTurns", flag: "--min-turns", value: "integer", help: "fewest turns of a job" },
  { key: "maxTurns", flag: "--max-turns", value: "integer", help: "most turns of a job" },
  {
    key: "promptTokensMin",
    flag: "--prompt-tokens-min",
    value: "integer",
    help: "shortest prompt (with --grow: of what a turn adds)",
  },
  {
    key: "promptTokensMax",
    flag: "--prompt-tokens-max",
    value: "integer",
    help: "longest prompt (with --grow: of what a turn adds)",
  },
  { key: "maxTokensMin", flag: "--max-tokens-min", value: "integer", help: "shortest output" },
  { key: "maxTokensMax", flag: "--max-tokens-max", value: "integer", help: "longest output" },
  {
    key: "targetTokPerS",
    flag: "--target-tok-per-s",
    value: "number",
    help: "speed at which outputs are expected, for the arrival of later turns",
  },
  { key: "thinkMsMin", flag: "--think-ms-min", value: "number", help: "shortest pause between turns" },
  { key: "thinkMsMax", flag: "--think-ms-max", value: "number", help: "longest pause between turns" },
  { key: "seed", flag: "--seed", value: "seed", help: "the same seed gives the same trace" },
  {
    key: "preset",
    flag: "--preset",
    value: "choice",
    choices: PRESET_NAMES,
    help: "an agent with the lengths, reuse and branching of the study",
  },
  {
    key: "turns",
    flag: "--turns",
    value: "distribution",
    help: "turns of a job (of each researcher, levels of a tree)",
  },
  {
    key: "promptTokens",
    flag: "--prompt-tokens",
    value: "distribution",
    help: "new prompt tokens of a turn",
  },
  { key: "outputTokens", flag: "--output-tokens", value: "distribution", help: "output tokens of a turn" },
  {
    key: "thinkMs",
    flag: "--think-ms",
    value: "distribution",
    help: "pause between turns, tools not counted",
  },
  {
    key: "toolMs",
    flag: "--tool-ms",
    value: "distribution",
    help: "duration of a tool call, such as p50=400,p90=8k or pareto(200,1.3,max=600k)",
  },
  { key: "toolShare", flag: "--tool-share", value: "number", help: "share of turns that follow a tool call" },
  {
    key: "grow",
    flag: "--grow",
    value: "switch",
    help: "each prompt begins with the one before and its answer",
  },
  {
    key: "systemTokens",
    flag: "--system-tokens",
    value: "integer",
    help: "system prompt that all jobs share",
  },
  {
    key: "briefTokens",
    flag: "--brief-tokens",
    value: "distribution",
    help: "what a job's user asked for: shared by its turns and sub-agents",
  },
  {
    key: "jobSigma",
    flag: "--job-sigma",
    value: "number",
    help: "how much jobs differ: new text of a whole job is scaled by exp(Normal(0, sigma))",
  },
  {
    key: "fanOut",
    flag: "--fan-out",
    value: "distribution",
    help: "parallel sub-agents of a job, joined at the end",
  },
  {
    key: "compactAt",
    flag: "--compact-at",
    value: "integer",
    help: "a history that grows beyond this many tokens is compacted",
  },
  { key: "blockTokens", flag: "--block-tokens", value: "integer", help: "tokens of a named prefix block" },
  { key: "budgetMs", flag: "--budget", value: "duration", help: "time budget written into each job" },
  { key: "spanMs", flag: "--span", value: "duration", help: "time over which jobs start" },
  {
    key: "arrivals",
    flag: "--arrivals",
    value: "choice",
    choices: ARRIVAL_NAMES,
    help: "how job starts lie in the span",
  },
  {
    key: "burstSize",
    flag: "--burst-size",
    value: "distribution",
    help: "jobs that start together (--arrivals bursts)",
  },
  { key: "dayMs", flag: "--day", value: "duration", help: "length of a day (--arrivals daily)" },
  {
    key: "peakToTrough",
    flag: "--peak-to-trough",
    value: "number",
    help: "busiest over quietest rate of a day (--arrivals daily)",
  },
  {
    key: "servegen",
    flag: "--servegen",
    value: "text",
    help: "a ServeGen client's trace CSV: job starts come from its windows, lengths from its dataset JSON",
  },
  {
    key: "servegenDataset",
    flag: "--servegen-dataset",
    value: "text",
    help: "the dataset JSON, where it does not lie beside the CSV",
  },
  {
    key: "servegenFromS",
    flag: "--servegen-from",
    value: "number",
    help: "first second of the CSV to use (default: its first busy window)",
  },
] satisfies readonly GenerateFlag[]);

function withDefaults(flags: readonly GenerateFlag[]): GenerateFlag[] {
  return flags.map((flag) => {
    const value = DEFAULTS[flag.key];
    if (value === null) return flag;
    const shown = flag.value === "duration" ? typedDuration(value as number) : String(value);
    return { ...flag, help: `${flag.help} (default: ${shown})` };
  });
}

/** As one would type it. */
function typedDuration(ms: Ms): string {
  return ms % 3_600_000 === 0 ? `${ms / 3_600_000}h` : `${ms / 1000}s`;
}

function flagOf(key: keyof GenerateOptions): string {
  return GENERATE_FLAGS.find((entry) => entry.key === key)?.flag ?? key;
}

/** Checks options from outside; what is wrong is a {@link UserError} that names the flag. */
export function parseGenerateOptions(raw: unknown): GenerateOptions {
  const result = generateOptionsSchema.safeParse(raw);
  if (result.success) {
    const conflict = findConflict(result.data, givenKeys(result.data));
    if (conflict !== null) throw new UserError(`${flagOf(conflict.key)} ${conflict.why}`);
    const { seed } = result.data;
    return typeof seed === "string" && /^-?\d{1,15}$/.test(seed)
      ? { ...result.data, seed: Number(seed) }
      : result.data;
  }
  const issue = result.error.issues[0];
  const key = issue?.path[0];
  const flag =
    typeof key === "string" && key in generateOptionsSchema.shape ? flagOf(key as keyof GenerateOptions) : "";
  const hint: unknown = issue?.code === "custom" ? issue.params?.["hint"] : undefined;
  throw new UserError(
    `${flag === "" ? "generate" : flag}: ${issue === undefined ? "not understood" : messageOf(issue)}`,
    typeof hint === "string" ? { hint } : {},
  );
}

function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code === "too_small")
    return `must be ${issue.inclusive === false ? "above" : "at least"} ${issue.minimum}`;
  if (issue.code === "too_big")
    return `must be ${issue.inclusive === false ? "below" : "at most"} ${issue.maximum}`;
  return issue.message;
}

/** What was asked for beyond the defaults (a trace's own header, read again, holds all of them). */
function givenKeys(options: GenerateOptions): ReadonlySet<keyof GenerateOptions> {
  const keys = Object.keys(DEFAULTS) as (keyof GenerateOptions)[];
  return new Set(keys.filter((key) => options[key] !== DEFAULTS[key]));
}
