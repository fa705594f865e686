/**
 * Four agents whose traces have the lengths, the reuse and the number of requests of a published study of agentic serving
 * (NVIDIA, TensorRT-LLM tech blog 27, 2026). The numbers below are fitted: `generate-trace.test.ts` measures the result.
 */
import type { AgentModel } from "./agent-model.ts";
import { parseDistribution, type Distribution } from "./distribution.ts";
import type { PresetName } from "./generate-options.ts";

const of = (text: string): Distribution => parseDistribution(text, "preset");

export const PRESETS: Readonly<Record<PresetName, AgentModel>> = {
  /** One branch: reads, edits and tests until it is done; every prompt begins with all that came before. */
  coder: {
    structure: "chain",
    turns: of("p50=34,p90=70,min=3,max=160"),
    fanOut: null,
    agent: "coder",
    subAgent: "coder",
    systemTokens: 2900,
    brief: of("p50=800,p90=2500,max=8k"),
    fresh: of("p50=95,p90=720,max=12k"),
    output: of("p50=110,p90=436"),
    keep: "everything",
    jobSigma: 0.47,
    thinkMs: of("uniform(20,80)"),
    toolShare: 0.95,
    toolMs: of("p50=300,p90=6k,max=600k"),
    tools: ["read_file", "edit_file", "run_tests", "shell", "search"],
    compactAt: 120_000,
  },
  /** Plans, sends researchers out in parallel, joins what they found. */
  planner: {
    structure: "planner",
    turns: of("uniform(2.5,7.5)"),
    fanOut: of("uniform(2.5,7.5)"),
    agent: "planner",
    subAgent: "researcher",
    systemTokens: 2150,
    brief: of("p50=500,p90=1000"),
    fresh: of("p50=500,p90=8.7k,max=50k"),
    output: of("p50=632,p90=4k"),
    keep: "answers",
    jobSigma: 0.4,
    thinkMs: of("uniform(20,80)"),
    toolShare: 0.9,
    toolMs: of("p50=1.2k,p90=6k,max=120k"),
    tools: ["web_search", "open_page"],
    compactAt: null,
  },
  /** Rewrites one text again and again: each prompt carries the newest draft, which nobody has seen before. */
  rewriter: {
    structure: "chain",
    turns: of("p50=10.8,p90=18,min=2,max=40"),
    fanOut: null,
    agent: "rewriter",
    subAgent: "rewriter",
    systemTokens: 1300,
    brief: of("p50=900,p90=1600"),
    fresh: of("p50=4k,p90=14.8k,max=60k"),
    output: of("p50=1.7k,p90=3k"),
    keep: "brief",
    jobSigma: 0,
    thinkMs: of("p50=300,p90=1500,max=60k"),
    toolShare: 0,
    toolMs: of("p50=400,p90=8k,max=600k"),
    tools: ["critic"],
    compactAt: null,
  },
  /** Levels of candidate thoughts side by side, each level judged before the next. */
  "tree-of-thoughts": {
    structure: "tree",
    turns: of("uniform(2.4,6)"),
    fanOut: of("uniform(3.5,6.5)"),
    agent: "judge",
    subAgent: "thinker",
    systemTokens: 412,
    brief: of("p50=300,p90=600"),
    fresh: of("p50=900,p90=3.8k,max=30k"),
    output: of("p50=985,p90=4.7k"),
    keep: "brief",
    jobSigma: 0,
    thinkMs: of("uniform(5,30)"),
    toolShare: 0,
    toolMs: of("p50=400,p90=8k,max=600k"),
    tools: ["calculator"],
    compactAt: null,
  },
};
