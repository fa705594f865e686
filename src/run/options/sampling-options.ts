/** What is asked of the model's sampling. Sent in the body; `sampling-fields.ts` says which protocol can carry what. */
import { integer, number, option, toggle } from "./option.ts";
import { GROUP } from "./groups.ts";

const S = GROUP.sampling;

/** Shared by replay and bench. */
export const beamOptions = {
  best_of: option(integer({ min: 1 }), S, "candidates the server draws for each request", {
    defaultText: "1",
  }),
  use_beam_search: option(toggle(), S, "ask for beam search"),
} as const;

export const samplingOptions = {
  ...beamOptions,
  temperature: option(number({ min: 0 }), S, "sampling temperature", { defaultText: "0" }),
  top_p: option(number({ min: 0, max: 1 }), S, "nucleus sampling"),
  top_k: option(integer({ min: -1 }), S, "sample from so many tokens; -1 = all"),
  min_p: option(number({ min: 0, max: 1 }), S, "least probability, relative to the likeliest token"),
  frequency_penalty: option(number(), S, "penalty on how often a token has come"),
  presence_penalty: option(number(), S, "penalty on tokens that have come"),
  repetition_penalty: option(number({ min: 0, exclusive: true }), S, "factor on tokens that have come"),
  logprobs: option(integer({ min: 0 }), S, "log probabilities of so many tokens at each position"),
  ignore_eos: option(toggle(), S, "generate exactly the planned output length"),
} as const;
