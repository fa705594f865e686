/** Flags that would have no effect beside another are refused: nobody should believe that one is in force which is not. */
import type { GenerateOptions } from "./generate-options.ts";

type Key = keyof GenerateOptions;

interface Conflict {
  /** These keys, when given, ... */
  readonly keys: readonly Key[];
  /** ... have no effect on options for which this holds. */
  readonly when: (options: GenerateOptions, given: ReadonlySet<Key>) => boolean;
  readonly why: string;
}

const ofPlainAgent = (keys: readonly Key[], instead: Key, flag: string): Conflict => ({
  keys,
  when: (options, given) => options.preset !== null || given.has(instead),
  why: `has no effect beside --preset or ${flag}; use ${flag} alone`,
});

const CONFLICTS: readonly Conflict[] = [
  ofPlainAgent(["minTurns", "maxTurns"], "turns", "--turns"),
  ofPlainAgent(["promptTokensMin", "promptTokensMax"], "promptTokens", "--prompt-tokens"),
  ofPlainAgent(["maxTokensMin", "maxTokensMax"], "outputTokens", "--output-tokens"),
  ofPlainAgent(["thinkMsMin", "thinkMsMax"], "thinkMs", "--think-ms"),
  {
    keys: ["burstSize"],
    when: (options) => options.arrivals !== "bursts",
    why: "goes with --arrivals bursts",
  },
  {
    keys: ["dayMs", "peakToTrough"],
    when: (options) => options.arrivals !== "daily",
    why: "goes with --arrivals daily",
  },
  {
    keys: ["servegenDataset", "servegenFromS"],
    when: (options) => options.servegen === null,
    why: "goes with --servegen",
  },
  {
    keys: ["arrivals", "spanMs"],
    when: (options) => options.servegen !== null,
    why: "has no effect beside --servegen, which gives the arrivals",
  },
  {
    keys: [
      "minTurns",
      "maxTurns",
      "promptTokensMin",
      "promptTokensMax",
      "maxTokensMin",
      "maxTokensMax",
      "thinkMsMin",
      "thinkMsMax",
      "targetTokPerS",
      "turns",
      "promptTokens",
      "outputTokens",
      "thinkMs",
      "toolMs",
      "toolShare",
      "grow",
      "systemTokens",
      "briefTokens",
      "jobSigma",
      "fanOut",
      "compactAt",
      "blockTokens",
    ],
    when: (options) => options.servegen !== null && options.preset === null,
    why: "has no effect beside --servegen, which gives one request of its own lengths; add a --preset",
  },
];

/** The first given key that would have no effect, and why; `null` where all are in force. */
export function findConflict(
  options: GenerateOptions,
  given: ReadonlySet<Key>,
): { key: Key; why: string } | null {
  for (const { keys, when, why } of CONFLICTS) {
    const key = keys.find((candidate) => given.has(candidate));
    if (key !== undefined && when(options, given)) return { key, why };
  }
  return null;
}
