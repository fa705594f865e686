/** What `bench` sends, as turns: a dataset by its name, made-up prompts, or a trace of any format. */
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { UserError } from "../core/failure.ts";
import { readBytes, readLineBatches } from "../core/lines.ts";
import { createRng, type Rng } from "../core/random.ts";
import { outputLength, type ToldOutput } from "../plan/transforms/output-length.ts";
import {
  DATASETS,
  datasetNamed,
  DEFAULT_DATASET_OPTIONS,
  type DatasetOptions,
  type DatasetTurn,
  loadDataset,
} from "../prompt/datasets/index.ts";
import { makeTurn, takeRows, type DatasetContext } from "../prompt/datasets/dataset.ts";
import type { Tokenizer } from "../prompt/tokenizer.ts";
import { formatNamed } from "../trace/formats/index.ts";
import { plannedOutputTokens, recordedPromptTokens } from "../trace/trace-request.ts";
import type { BenchGiven } from "./options/bench-options.ts";
import { readWorkload } from "./read-workload.ts";

export interface BenchDataset {
  /** As in `--dataset-name`, or the trace's format. */
  readonly name: string;
  readonly path: string | null;
  readonly turns: readonly DatasetTurn[];
  /** All turns have a time of their own. */
  readonly timed: boolean;
  /** Of the content; of the options and the seed where the prompts are made up. */
  readonly sha256: string;
  readonly madeUp: boolean;
  readonly notes: readonly string[];
}

/** Which dataset the flags mean, before anything is read. {@link UserError}s: unknown name, a file missing or too many. */
export function datasetChoice(given: BenchGiven): { name: string | null; path: string | null } {
  const path = given.dataset_path ?? null;
  const name = given.dataset_name ?? (path === null ? "random" : null);
  if (name === null) return { name, path };
  const dataset = datasetNamed(name);
  if (dataset === undefined && formatNamed(name) === undefined)
    throw new UserError(`--dataset-name: "${name}" is not known`, {
      hint: `one of ${DATASETS.map((known) => known.name).join(", ")}, or a trace format; nothing is downloaded`,
    });
  if (dataset !== undefined && !dataset.needsPath && path !== null)
    throw new UserError(`--dataset-name ${name} makes its prompts up: --dataset-path contradicts it`, {
      hint: "name the file's dataset (sharegpt, custom, ...), or leave --dataset-name out to have it found",
    });
  if (path === null && dataset?.needsPath !== false)
    throw new UserError(`--dataset-name ${name} needs a file`, { hint: "name it with --dataset-path" });
  return { name, path };
}

/** `tokenizer` is asked for only where lengths must be counted. */
export async function loadBenchDataset(
  given: BenchGiven,
  tokenizer: Tokenizer,
  seed: number,
): Promise<BenchDataset> {
  const choice = datasetChoice(given);
  const name = choice.name ?? (await nameOfFile(choice.path as string));
  const rng = createRng(seed).fork("dataset");
  if (datasetNamed(name) === undefined) return loadTrace(choice.path as string, name, given, rng);
  if (given.skip_bad === true && name !== "timed_trace")
    throw new UserError(`--skip-bad: rows of the dataset ${name} are never skipped`, {
      hint: "it is for traces",
    });
  if (given.self_timed === true && name !== "timed_trace")
    throw new UserError(`--self-timed: the dataset ${name} tells no arrival times`);
  const options = datasetOptionsOf(given, name, choice.path);
  const { turns, notes } = await loadDataset(name, options, tokenizer, rng);
  return {
    name,
    path: choice.path,
    turns: name === "timed_trace" ? turns.map(forced) : turns,
    timed: turns.every(({ offset_ms }) => offset_ms !== undefined),
    sha256:
      choice.path === null ? digestOf(JSON.stringify([name, options, seed])) : await fileDigest(choice.path),
    madeUp: choice.path === null,
    notes,
  };
}

/** A trace's lengths are its load: they are met exactly, as in `replay`. */
function forced(turn: DatasetTurn): DatasetTurn {
  const { max_tokens } = turn.request;
  return { ...turn, request: { ...turn.request, forced_output_tokens: max_tokens } };
}

async function loadTrace(path: string, name: string, given: BenchGiven, rng: Rng): Promise<BenchDataset> {
  const format = name === DETECTED ? undefined : name;
  const { trace, sha256 } = await readWorkload(path, {
    ...(format === undefined ? {} : { format }),
    ...(given.skip_bad === true ? { skipBad: true } : {}),
    ...(given.block_tokens === undefined ? {} : { blockTokens: given.block_tokens }),
  });
  const notes = [...trace.notes];
  if (trace.rows.refused > 0) notes.push(`${path}: ${trace.rows.refused} bad rows left out`);
  const context: DatasetContext = {
    options: {
      ...DEFAULT_DATASET_OPTIONS,
      numPrompts: given.num_prompts ?? trace.requests.length,
      shuffle: given.shuffle ?? false,
      oversample: given.no_oversample !== true,
    },
    tokenizer: NO_TOKENIZER,
    rng,
    note: (line) => notes.push(line),
  };
  const rows = takeRows([...trace.requests], context, path);
  const told = rows.map((request): ToldOutput => ({
    planned: plannedOutputTokens(request) ?? NaN,
    cap: request.max_tokens ?? NaN,
  }));
  const turns = rows.map((request, index) => {
    const { planned_output_tokens, ...output } = outputLength(told[index] as ToldOutput, "exact");
    const turn = makeTurn(context, {
      prompt: request.prompt,
      promptTokens: recordedPromptTokens(request),
      outputTokens: planned_output_tokens,
      temperature: request.temperature,
      params: request.params,
      ...(request.arrival_ms === null ? {} : { offset_ms: request.arrival_ms }),
    });
    return { ...turn, request: { ...turn.request, ...output } };
  });
  return {
    name: trace.format,
    path,
    turns,
    timed: turns.every(({ offset_ms }) => offset_ms !== undefined),
    sha256,
    madeUp: false,
    notes,
  };
}

const DETECTED = "";

/** Datasets whose rows are no trace are told by their first row; everything else is left to the trace's detection. */
async function nameOfFile(path: string): Promise<string> {
  // Standard input can be read only once, and a folder is always a trace.
  if (path === "-" || statSync(path, { throwIfNoEntry: false })?.isFile() === false) return DETECTED;
  for await (const batch of readLineBatches(path)) {
    const first = batch.find(({ text }) => text.trim() !== "");
    if (first === undefined) continue;
    let row: unknown;
    try {
      row = JSON.parse(first.text);
    } catch {
      return DETECTED;
    }
    if (typeof row !== "object" || row === null || Array.isArray(row)) return DETECTED;
    const has = (key: string): boolean => Object.hasOwn(row, key);
    const times = [
      "timestamp",
      "arrival_ms",
      "arrival_time",
      "delay",
      "turns",
      "session_id",
      "job_id",
      "custom_id",
    ];
    if (times.some(has)) return DETECTED;
    if (has("messages")) return "EBChat";
    if (typeof (row as { text?: unknown }).text === "string" && !has("prompt")) return "EB";
    if (typeof (row as { prompt?: unknown }).prompt === "string") return "custom";
    return DETECTED;
  }
  return DETECTED;
}

/** The dataset's options: its own flags, then those that mean any dataset. */
function datasetOptionsOf(given: BenchGiven, name: string, path: string | null): Partial<DatasetOptions> {
  const { input_len: input, output_len: output } = given;
  const own: { [K in keyof DatasetOptions]?: DatasetOptions[K] | undefined } = {
    path,
    // A row sent again would come at its own time again: a trace is sent as it is, unless a number is asked for.
    numPrompts: given.num_prompts ?? (name === "timed_trace" ? Infinity : undefined),
    shuffle: given.shuffle,
    oversample: given.no_oversample !== true,
    ignoreEos: given.ignore_eos,
    randomInputLen: input ?? given.random_input_len,
    randomOutputLen: output ?? given.random_output_len,
    randomPrefixLen: given.random_prefix_len,
    randomRangeRatio: given.random_range_ratio,
    sharegptOutputLen: output ?? given.sharegpt_output_len,
    sonnetInputLen: input ?? given.sonnet_input_len,
    sonnetOutputLen: output ?? given.sonnet_output_len,
    sonnetPrefixLen: given.sonnet_prefix_len,
    customOutputLen: output ?? given.custom_output_len,
    prefixRepetitionPrefixLen: given.prefix_repetition_prefix_len,
    prefixRepetitionSuffixLen: given.prefix_repetition_suffix_len,
    prefixRepetitionNumPrefixes: given.prefix_repetition_num_prefixes,
    prefixRepetitionOutputLen: output ?? given.prefix_repetition_output_len,
    blockTokens: given.block_tokens,
    skipBad: given.skip_bad,
  };
  return Object.fromEntries(
    Object.entries(own).filter(([, value]) => value !== undefined),
  ) as Partial<DatasetOptions>;
}

const unused = (): never => {
  throw new Error("a trace's lengths are not counted");
};
const NO_TOKENIZER: Tokenizer = { name: "none", source: "builtin", encode: unused, count: unused };

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

async function fileDigest(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const bytes of readBytes(path)) hash.update(bytes);
  return hash.digest("hex");
}
