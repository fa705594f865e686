/** All options of `reprise replay`. */
import { integer, option, text, toggle, type Given } from "./option.ts";
import { GROUP } from "./groups.ts";
import { targetOptions } from "./target-options.ts";
import { loadOptions, pacingOptions, workloadOptions } from "./workload-options.ts";
import { measureOptions, outputOptions, verdictOptions } from "./measure-options.ts";

export const replayOptions = {
  ...targetOptions,
  ...workloadOptions,
  ...pacingOptions,
  ...loadOptions,
  ...measureOptions,
  ...verdictOptions,
  ...outputOptions,
  best_of: option(integer({ min: 1 }), GROUP.sampling, "candidates the server draws for each request", {
    defaultText: "1",
  }),
  use_beam_search: option(toggle(), GROUP.sampling, "ask for beam search"),
  config: option(
    text("<file>"),
    GROUP.workload,
    "reprise.yaml with any of these options; a flag wins over it",
  ),
} as const;

export type ReplayGiven = Given<typeof replayOptions>;
