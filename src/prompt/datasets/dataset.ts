/**
 * The contract of a dataset: what benchmarks of other tools call one becomes a list of turns. One dataset a file, one line in
 * index.ts. Lengths are promises for the composer to keep: a dataset makes no text up.
 */
import { UserError } from "../../core/failure.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Rng } from "../../core/random.ts";
import type { Ms, Tokens } from "../../core/units.ts";
import type { TracePrompt } from "../../trace/trace-request.ts";
import type { Tokenizer } from "../tokenizer.ts";

/** One request of a load; fits into a plan as it is. */
export interface DatasetTurn {
  readonly request: {
    readonly prompt: TracePrompt;
    /** `null` = free up to `max_tokens`; `--ignore-eos` makes it `max_tokens`. */
    readonly forced_output_tokens: Tokens | null;
    readonly max_tokens: Tokens | null;
    readonly temperature: number | null;
    readonly params: JsonObject | null;
    readonly model: string | null;
    readonly copy: number;
  };
  readonly planned_prompt_tokens: Tokens | null;
  readonly planned_output_tokens: Tokens | null;
  /** Only where the dataset tells times (timed_trace). */
  readonly offset_ms?: Ms;
}

/** Options by the names of the flags. `null` = the dataset's default. */
export interface DatasetOptions {
  /** `--dataset-path`. */
  readonly path: string | null;
  /** `--num-prompts`; `Infinity` = every row once (timed_trace). */
  readonly numPrompts: number;
  /** `--shuffle`: seeded, before the first N are taken. */
  readonly shuffle: boolean;
  /** A shortage is filled by drawing again; `--no-oversample`: what there is is sent once. */
  readonly oversample: boolean;
  /** `--ignore-eos`: the output has exactly its length. */
  readonly ignoreEos: boolean;
  readonly randomInputLen: number;
  readonly randomOutputLen: number;
  readonly randomPrefixLen: number;
  readonly randomRangeRatio: number;
  readonly sharegptOutputLen: number | null;
  readonly sonnetInputLen: number;
  readonly sonnetOutputLen: number;
  readonly sonnetPrefixLen: number;
  readonly customOutputLen: number;
  readonly prefixRepetitionPrefixLen: number;
  readonly prefixRepetitionSuffixLen: number;
  readonly prefixRepetitionNumPrefixes: number;
  readonly prefixRepetitionOutputLen: number;
  /** Tokens of a block of timed_trace's `hash_ids`; `null` = 512 or 16, as the rows fit. */
  readonly blockTokens: number | null;
  /** `--skip-bad`: bad rows of timed_trace are counted and left out. */
  readonly skipBad: boolean;
  /** Milliseconds of one unit of timed_trace's `timestamp`. */
  readonly timeUnitMs: number;
}

export const DEFAULT_DATASET_OPTIONS: DatasetOptions = {
  path: null,
  numPrompts: 1000,
  shuffle: false,
  oversample: true,
  ignoreEos: false,
  randomInputLen: 1024,
  randomOutputLen: 128,
  randomPrefixLen: 0,
  randomRangeRatio: 0,
  sharegptOutputLen: null,
  sonnetInputLen: 550,
  sonnetOutputLen: 150,
  sonnetPrefixLen: 200,
  customOutputLen: 256,
  prefixRepetitionPrefixLen: 256,
  prefixRepetitionSuffixLen: 256,
  prefixRepetitionNumPrefixes: 10,
  prefixRepetitionOutputLen: 128,
  blockTokens: null,
  skipBad: false,
  timeUnitMs: 1,
};

export interface DatasetContext {
  readonly options: DatasetOptions;
  readonly tokenizer: Tokenizer;
  readonly rng: Rng;
  /** Tells the user something, one line. */
  note(line: string): void;
}

export interface Dataset {
  /** As in `--dataset-name`. */
  readonly name: string;
  /** One line for the help. */
  readonly title: string;
  readonly needsPath: boolean;
  load(context: DatasetContext): Promise<DatasetTurn[]>;
}

export interface TurnFields {
  readonly prompt: TracePrompt;
  readonly promptTokens: Tokens | null;
  readonly outputTokens: Tokens | null;
  readonly temperature?: number | null;
  readonly params?: JsonObject | null;
  readonly offset_ms?: Ms;
}

/** A turn whose output is capped by (with `--ignore-eos`: exactly) `outputTokens`. */
export function makeTurn(context: DatasetContext, fields: TurnFields): DatasetTurn {
  const { outputTokens, offset_ms } = fields;
  return {
    request: {
      prompt: fields.prompt,
      forced_output_tokens: context.options.ignoreEos ? outputTokens : null,
      max_tokens: outputTokens,
      temperature: fields.temperature ?? null,
      params: fields.params ?? null,
      model: null,
      copy: 0,
    },
    planned_prompt_tokens: fields.promptTokens,
    planned_output_tokens: outputTokens,
    ...(offset_ms === undefined ? {} : { offset_ms }),
  };
}

/** The file of a dataset that needs one. */
export function pathOf(context: DatasetContext, name: string): string {
  const { path } = context.options;
  if (path === null || path === "")
    throw new UserError(`--dataset-name ${name} needs a file`, { hint: "name it with --dataset-path" });
  return path;
}

/**
 * `numPrompts` of the rows: shuffled first where that was asked for, the first N taken, a shortage filled by drawing again
 * with replacement. Both are seeded; the shortage is told.
 */
export function takeRows<T>(rows: readonly T[], context: DatasetContext, what: string): T[] {
  const { numPrompts, shuffle } = context.options;
  if (rows.length === 0) throw new UserError(`${what}: nothing in it can be sent`);
  const taken = (shuffle ? context.rng.fork("shuffle").shuffle(rows) : rows).slice(0, numPrompts);
  return fillUp(taken, context, what);
}

/** `rows`, and as many drawn from them again as are missing, unless that was ruled out. */
export function fillUp<T>(rows: readonly T[], context: DatasetContext, what: string): T[] {
  const { numPrompts } = context.options;
  const out = [...rows];
  if (numPrompts === Infinity || out.length >= numPrompts) return out;
  if (!context.options.oversample) {
    context.note(`${what}: ${rows.length} rows for ${numPrompts} prompts; each is sent once`);
    return out;
  }
  const again = context.rng.fork("shortage");
  while (out.length < numPrompts) out.push(again.pick(rows));
  context.note(
    `${what}: ${rows.length} rows for ${numPrompts} prompts; ${numPrompts - rows.length} of them are sent again (seeded)`,
  );
  return out;
}
