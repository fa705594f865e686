/**
 * The table of datasets: one file a dataset, one line here. Besides these every trace format is one, read by trace/.
 */
import { UserError } from "../../core/failure.ts";
import type { Rng } from "../../core/random.ts";
import type { Tokenizer } from "../tokenizer.ts";
import { burstgpt } from "./burstgpt.ts";
import { custom } from "./custom.ts";
import { DEFAULT_DATASET_OPTIONS, type Dataset, type DatasetOptions, type DatasetTurn } from "./dataset.ts";
import { ebChat } from "./eb-chat.ts";
import { eb } from "./eb.ts";
import { prefixRepetition } from "./prefix-repetition.ts";
import { random } from "./random.ts";
import { sharegpt } from "./sharegpt.ts";
import { sonnet } from "./sonnet.ts";
import { timedTrace } from "./timed-trace.ts";

export const DATASETS: readonly Dataset[] = [
  eb,
  ebChat,
  random,
  sharegpt,
  sonnet,
  custom,
  burstgpt,
  prefixRepetition,
  timedTrace,
];

export { DEFAULT_DATASET_OPTIONS, type DatasetOptions, type DatasetTurn } from "./dataset.ts";

export interface LoadedDataset {
  readonly turns: readonly DatasetTurn[];
  /** Things to tell the user, one line each. */
  readonly notes: readonly string[];
}

/** The dataset of this name, or `undefined`. */
export function datasetNamed(name: string): Dataset | undefined {
  return DATASETS.find((dataset) => dataset.name === name);
}

/** Exactly `numPrompts` turns of a dataset. What the user got wrong is a {@link UserError}. */
export async function loadDataset(
  name: string,
  given: Partial<DatasetOptions>,
  tokenizer: Tokenizer,
  rng: Rng,
): Promise<LoadedDataset> {
  const dataset = datasetNamed(name);
  if (dataset === undefined) {
    throw new UserError(`--dataset-name: "${name}" is not known`, {
      hint: `one of ${DATASETS.map((known) => known.name).join(", ")}, or a trace's path with --dataset-path alone`,
    });
  }
  const options: DatasetOptions = { ...DEFAULT_DATASET_OPTIONS, ...given };
  const { numPrompts } = options;
  const all = numPrompts === Infinity && dataset.needsPath;
  if (!all && (!Number.isSafeInteger(numPrompts) || numPrompts < 1))
    throw new UserError(`--num-prompts: ${numPrompts} is not a whole number above 0`);
  const notes: string[] = [];
  const turns = await dataset.load({ options, tokenizer, rng, note: (line) => notes.push(line) });
  return { turns, notes };
}
