/**
 * Knobs → flags. A launcher declares a table; unknown names and bad values become a `UserError`, raw flags pass through.
 */
import { UserError } from "../../core/failure.ts";
import type { JsonValue } from "../../core/json.ts";
import { nearest } from "../../core/nearest.ts";
import type { Knobs } from "./launcher.ts";

/** Knobs that mean the same for every engine that has them, with what they take. */
export const COMMON_KNOBS = {
  max_batch_size: "sequences that run together",
  max_batch_tokens: "token budget of one step",
  kv_cache_fraction: "share of GPU memory (0-1) for weights and KV cache, as the engine counts it",
  kv_cache_dtype: "data type of the KV cache",
  block_size: "tokens a KV block",
  cuda_graphs: "CUDA graphs on or off",
  cuda_graph_max_batch: "largest batch captured in a CUDA graph",
  chunked_prefill: "chunked prefill on or off",
  prefix_caching: "prefix caching on or off",
  host_offload_gb: "host memory for offloaded KV blocks, GB",
  context_length: "longest sequence, tokens",
  schedule_policy: "order of waiting requests",
  tensor_parallel: "tensor parallel size",
  pipeline_parallel: "pipeline parallel size",
  data_parallel: "data parallel size",
} as const;

export type CommonKnob = keyof typeof COMMON_KNOBS;

/** What the knobs of one command add up to. */
export class CommandParts {
  readonly args: string[] = [];
  readonly env: Record<string, string> = {};
  /** The engine's config file, for engines that have one. */
  readonly config: Record<string, JsonValue> = {};
}

/** How one knob is expressed. Called with a value that is neither null nor undefined. */
export type KnobRule = (value: JsonValue, parts: CommandParts, name: string) => void;

/** `flag N`, N an integer ≥ `least`. */
export function integerFlag(flag: string, least = 1): KnobRule {
  return (value, parts, name) => {
    parts.args.push(flag, String(integer(value, name, least)));
  };
}

/** `flag X`, 0 < X ≤ 1. */
export function fractionFlag(flag: string): KnobRule {
  return (value, parts, name) => {
    parts.args.push(flag, String(fraction(value, name)));
  };
}

/** `flag X`, X ≥ 0. */
export function numberFlag(flag: string): KnobRule {
  return (value, parts, name) => {
    parts.args.push(flag, String(number(value, name)));
  };
}

export function textFlag(flag: string, ...more: readonly string[]): KnobRule {
  return (value, parts, name) => {
    for (const each of [flag, ...more]) parts.args.push(each, text(value, name));
  };
}

/** `on` when true, `off` when false; an empty list is the engine's default and adds nothing. */
export function toggle(on: readonly string[], off: readonly string[]): KnobRule {
  return (value, parts, name) => {
    parts.args.push(...(boolean(value, name) ? on : off));
  };
}

/** One object as JSON text behind a flag. */
export function jsonFlag(flag: string): KnobRule {
  return (value, parts, name) => {
    if (typeof value !== "object" || value === null) throw bad(name, value, "an object");
    parts.args.push(flag, JSON.stringify(value));
  };
}

export function integer(value: JsonValue, name: string, least = 1): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < least)
    throw bad(name, value, `an integer of at least ${least}`);
  return value;
}

export function fraction(value: JsonValue, name: string): number {
  if (typeof value !== "number" || !(value > 0 && value <= 1)) throw bad(name, value, "a share: 0 < x <= 1");
  return value;
}

export function number(value: JsonValue, name: string): number {
  if (typeof value !== "number" || !(value >= 0 && Number.isFinite(value)))
    throw bad(name, value, "a number of at least 0");
  return value;
}

export function boolean(value: JsonValue, name: string): boolean {
  if (typeof value !== "boolean") throw bad(name, value, "true or false");
  return value;
}

export function text(value: JsonValue, name: string): string {
  if (typeof value === "object" || typeof value === "boolean" || value === "")
    throw bad(name, value, "a word");
  return String(value);
}

/**
 * Applies knobs by the table. `null` = the engine's default: the knob adds nothing. Names that begin with `-` are raw
 * flags. `negation` is how a raw flag is switched off (`--no-` for engines with that habit), else `false` leaves it out.
 */
export function applyKnobs(
  engine: string,
  rules: Readonly<Record<string, KnobRule>>,
  knobs: Knobs,
  negation: "--no-" | null = null,
  parts: CommandParts = new CommandParts(),
): CommandParts {
  const setBy = new Map<string, string>();
  for (const [given, value] of Object.entries(knobs)) {
    const before = parts.args.length;
    if (given.startsWith("-")) {
      parts.args.push(...rawFlag(given, value, negation));
    } else {
      const name = given.replaceAll("-", "_");
      const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
      if (rule === undefined) throw unknownKnob(engine, given, Object.keys(rules));
      if (value !== null && value !== undefined) rule(value, parts, given);
    }
    // Of two that say the same the engine would take the last: the other would be a dimension that changes nothing.
    for (const flag of parts.args.slice(before).filter((word) => /^--?[A-Za-z]/.test(word))) {
      const other = setBy.get(flag);
      if (other !== undefined && other !== given)
        throw new UserError(`${engine}: ${other} and ${given} both set ${flag}`, {
          hint: "keep one of them",
        });
      setBy.set(flag, given);
    }
  }
  return parts;
}

/** A raw flag: true → `--k`, false → `--no-k` or nothing, null → nothing, a list → each, an object → JSON text. */
export function rawFlag(flag: string, value: JsonValue | undefined, negation: "--no-" | null): string[] {
  if (value === null || value === undefined) return [];
  if (value === true) return [flag];
  if (value === false)
    return negation !== null && flag.startsWith("--") && !flag.startsWith("--no-")
      ? [negation + flag.slice(2)]
      : [];
  if (Array.isArray(value))
    return [
      flag,
      ...value.map((item: JsonValue) => (typeof item === "object" ? JSON.stringify(item) : String(item))),
    ];
  return [flag, typeof value === "object" ? JSON.stringify(value) : String(value)];
}

export function unknownKnob(engine: string, name: string, known: readonly string[]): UserError {
  if (Object.hasOwn(COMMON_KNOBS, name)) {
    return new UserError(`${engine} has no flag for the knob "${name}"`, {
      hint: `it knows ${known.join(", ")}; a flag of its own can be given as "--flag"`,
    });
  }
  const near = nearest(name, known);
  return new UserError(`unknown knob "${name}" for ${engine}`, {
    hint: `${near === null ? `it knows ${known.join(", ")}` : `did you mean ${near}?`} A raw flag is written "--${name.replaceAll("_", "-")}"`,
  });
}

/** GPUs from parallel sizes among knobs and raw arguments; `null` if none is told. */
export function gpusOf(args: readonly string[], flags: readonly (readonly string[])[]): number | null {
  let gpus: number | null = null;
  for (const names of flags) {
    let size: number | null = null;
    for (const [index, arg] of args.entries()) {
      for (const name of names) {
        const told =
          arg === name ? args[index + 1] : arg.startsWith(`${name}=`) ? arg.slice(name.length + 1) : null;
        const value = Number(told ?? NaN);
        // The last one wins, as with the engines' own parsers.
        if (Number.isInteger(value) && value > 0) size = value;
      }
    }
    if (size !== null) gpus = (gpus ?? 1) * size;
  }
  return gpus;
}

function bad(name: string, value: JsonValue, wanted: string): UserError {
  return new UserError(`${name}: ${JSON.stringify(value)} is not ${wanted}`);
}
