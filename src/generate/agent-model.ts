/** The agents that jobs are made from: what a job consists of, how its prompts grow, how long its tools take. */
import { UserError } from "../core/failure.ts";
import { parseDistribution, type Distribution } from "./distribution.ts";
import type { GenerateOptions } from "./generate-options.ts";
import { PRESETS } from "./presets.ts";

/** What of a turn's new text is still in the next turn's prompt. */
export type Keep =
  /** All of it and the answer: the next prompt begins with this one. */
  | "everything"
  /** The answers; what a tool brought is dropped once it was read. */
  | "answers"
  /** Nothing: only the system prompt and the job's brief. */
  | "brief";

export interface AgentModel {
  readonly structure: "chain" | "planner" | "tree";
  /** Turns of a chain; of each researcher; levels of a tree. */
  readonly turns: Distribution;
  /** Researchers in parallel; branches of a tree's level. `null` in a chain. */
  readonly fanOut: Distribution | null;
  readonly agent: string;
  /** Name of the sub-agents. */
  readonly subAgent: string;
  /** Shared by all jobs. */
  readonly systemTokens: number;
  /** What the user asked for: shared by the turns of a job. */
  readonly brief: Distribution;
  /** New text of a turn: the user's word, or what the tool brought. */
  readonly fresh: Distribution;
  readonly output: Distribution;
  readonly keep: Keep;
  /** Jobs differ: the new text of a whole job is scaled by exp(Normal(0, sigma)). */
  readonly jobSigma: number;
  readonly thinkMs: Distribution;
  readonly toolShare: number;
  readonly toolMs: Distribution;
  readonly tools: readonly string[];
  readonly compactAt: number | null;
}

/** The agent that the options describe: a preset or the plain one, each flag in force. */
export function resolveAgentModel(options: GenerateOptions): AgentModel {
  const base = options.preset === null ? plainAgent(options) : PRESETS[options.preset];
  const given = (text: string | null, flag: string, otherwise: Distribution): Distribution =>
    text === null ? otherwise : parseDistribution(text, flag);
  const fanOut = options.fanOut === null ? base.fanOut : parseDistribution(options.fanOut, "--fan-out");
  const keep = options.grow === null ? base.keep : options.grow ? "everything" : "brief";
  if (options.compactAt !== null && keep === "brief")
    throw new UserError("--compact-at has no effect on prompts that do not grow; add --grow");
  return {
    ...base,
    structure: base.structure === "chain" && fanOut !== null ? "planner" : base.structure,
    turns: given(options.turns, "--turns", base.turns),
    fanOut,
    fresh: given(options.promptTokens, "--prompt-tokens", base.fresh),
    output: given(options.outputTokens, "--output-tokens", base.output),
    thinkMs: given(options.thinkMs, "--think-ms", base.thinkMs),
    toolMs: given(options.toolMs, "--tool-ms", base.toolMs),
    toolShare: options.toolShare ?? (options.toolMs !== null && base.toolShare === 0 ? 1 : base.toolShare),
    keep,
    systemTokens: options.systemTokens ?? base.systemTokens,
    brief: given(options.briefTokens, "--brief-tokens", base.brief),
    jobSigma: options.jobSigma ?? base.jobSigma,
    compactAt: options.compactAt ?? base.compactAt,
  };
}

/** As the agentic plan's generator: turns with prompts of their own, one after the other. */
function plainAgent(options: GenerateOptions): AgentModel {
  const between = (low: number, high: number): Distribution => {
    return parseDistribution(`uniform(${low},${high})`, "generate");
  };
  return {
    structure: "chain",
    // Every whole number equally likely, the ends included.
    turns: between(options.minTurns - 0.499999, options.maxTurns + 0.499999),
    fanOut: null,
    agent: "agent",
    subAgent: "sub-agent",
    systemTokens: 0,
    brief: parseDistribution("0", "generate"),
    fresh: between(options.promptTokensMin, options.promptTokensMax),
    output: between(options.maxTokensMin, options.maxTokensMax),
    keep: "brief",
    jobSigma: 0,
    thinkMs: between(options.thinkMsMin, options.thinkMsMax),
    toolShare: 0,
    toolMs: parseDistribution("p50=400,p90=8k,max=600k", "generate"),
    tools: ["tool"],
    compactAt: null,
  };
}
