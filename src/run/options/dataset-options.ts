/** What `bench` sends: a dataset of another tool, made-up prompts, or any trace. */
import { DATASETS } from "../../prompt/datasets/index.ts";
import { integer, number, option, text, toggle } from "./option.ts";
import { GROUP } from "./groups.ts";

const W = GROUP.workload;
const count = (help: string, defaultText: string, min = 0): ReturnType<typeof option<number>> =>
  option(integer({ min }), W, help, { defaultText });

export const datasetOptions = {
  dataset_name: option(
    text("<name>"),
    W,
    `${DATASETS.map(({ name }) => name).join(", ")}, or a trace format; detected where only a path is given`,
    { defaultText: "random" },
  ),
  dataset_path: option(text("<file>"), W, "file of the dataset, or a trace"),
  num_prompts: option(integer({ min: 1 }), W, "requests to send; a shortage is filled by drawing again", {
    defaultText: "1000; all of a trace",
  }),
  shuffle: option(toggle(), W, "shuffle the dataset (seeded) before the first are taken"),
  no_oversample: option(toggle(), W, "send what the dataset has, and draw nothing again for a shortage"),
  seed: option(integer({ min: 0 }), W, "seed of arrivals, lengths and draws", { defaultText: "0" }),
  prompt_seed: option(
    integer({ min: 0 }),
    W,
    "seed of made-up prompt text; without it the text differs in every run",
  ),
  prompt_ids: option(toggle(), W, "send made-up prompts as token ids, where the protocol takes them"),
  input_len: option(integer({ min: 1 }), W, "prompt length of any dataset that has a length option"),
  output_len: option(integer({ min: 1 }), W, "output length of any dataset that has a length option"),
  random_input_len: count("random: prompt length", "1024"),
  random_output_len: count("random: output length", "128", 1),
  random_prefix_len: count("random: length of a prefix that all prompts share", "0"),
  random_range_ratio: option(number({ min: 0 }), W, "random: lengths vary by this share, 0 to below 1", {
    defaultText: "0",
  }),
  sharegpt_output_len: option(integer({ min: 1 }), W, "sharegpt: output length", {
    defaultText: "that of the recorded answer",
  }),
  sonnet_input_len: count("sonnet: prompt length", "550", 1),
  sonnet_output_len: count("sonnet: output length", "150", 1),
  sonnet_prefix_len: count("sonnet: length of the shared prefix", "200"),
  custom_output_len: count("custom: output length where the row tells none", "256", 1),
  prefix_repetition_prefix_len: count("prefix_repetition: length of a prefix", "256"),
  prefix_repetition_suffix_len: count("prefix_repetition: length of a suffix", "256"),
  prefix_repetition_num_prefixes: count("prefix_repetition: how many prefixes", "10"),
  prefix_repetition_output_len: count("prefix_repetition: output length", "128"),
  skip_bad: option(toggle(), W, "traces: count and skip bad rows instead of refusing the trace"),
  block_tokens: option(integer({ min: 1 }), W, "tokens of a prefix block, where the format leaves it open"),
  self_timed: option(toggle(), W, "traces: send at the recorded times", {
    negatable: true,
    defaultText: "true unless a rate is given",
  }),
} as const;
