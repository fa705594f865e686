/** All options of `reprise replay`. */
import { option, text, type Given } from "./option.ts";
import { GROUP } from "./groups.ts";
import { targetOptions } from "./target-options.ts";
import { loadOptions, pacingOptions, workloadOptions } from "./workload-options.ts";
import { beamOptions } from "./sampling-options.ts";
import { resultOptions } from "./result-options.ts";
import { measureOptions, outputOptions, verdictOptions } from "./measure-options.ts";

export const replayOptions = {
  ...targetOptions,
  ...workloadOptions,
  ...pacingOptions,
  ...loadOptions,
  ...measureOptions,
  ...verdictOptions,
  ...outputOptions,
  ...beamOptions,
  ...resultOptions,
  config: option(
    text("<file>"),
    GROUP.workload,
    "reprise.yaml with any of these options; a flag wins over it",
  ),
} as const;

export type ReplayGiven = Given<typeof replayOptions>;
