/**
 * One definition of an option serves the command line, `reprise.yaml` and the published JSON Schema. A flag is
 * `--max-concurrency`; the same option is `max_concurrency` in YAML. Values are parsed and checked here, once.
 */
import { z } from "zod";
import { parseDuration } from "../../core/duration.ts";
import { UserError } from "../../core/failure.ts";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import { nearestHint } from "../../core/nearest.ts";
import type { Ms } from "../../core/units.ts";

/** How one option's text becomes a value, and how the value may look in YAML. */
export interface Kind<T> {
  /** Placeholder in the help: `<n>`; empty for switches. */
  readonly placeholder: string;
  /** `list`: takes several words and may be repeated. `switch`: takes none. */
  readonly arity: "one" | "list" | "switch";
  readonly choices?: readonly string[];
  /** Of a list: does this word look like an item? The first that does not ends the list (and is a positional). */
  accepts?(word: string): boolean;
  /** Parses the words given to the flag (one for arity `one`). Throws a UserError that names `flag`. */
  parse(words: readonly string[], flag: string): T;
  /** The values accepted in YAML. */
  readonly schema: z.ZodType;
}

function bad(flag: string, text: string, want: string, hint?: string): UserError {
  return new UserError(`${flag}: "${text}" is not ${want}`, hint === undefined ? {} : { hint });
}

export interface NumberBounds {
  readonly min?: number;
  readonly max?: number;
  /** The bounds themselves are not allowed. */
  readonly exclusive?: boolean;
  /** `inf` is accepted. */
  readonly infinite?: boolean;
}

function checkBounds(value: number, text: string, flag: string, bounds: NumberBounds, noun: string): void {
  const { min, max, exclusive = false } = bounds;
  const low = min !== undefined && (value < min || (exclusive && value === min));
  const high = max !== undefined && (value > max || (exclusive && value === max));
  if (!low && !high) return;
  const parts = [
    min === undefined ? "" : `${exclusive ? "above" : "at least"} ${min}`,
    max === undefined ? "" : `${exclusive ? "below" : "at most"} ${max}`,
  ].filter((part) => part !== "");
  throw new UserError(`${flag}: ${text} is out of range`, { hint: `give ${noun} ${parts.join(" and ")}` });
}

/** The bounds, for editors. */
function bounded(schema: z.ZodNumber, { min, max, exclusive = false }: NumberBounds): z.ZodNumber {
  const low = min === undefined ? schema : exclusive ? schema.gt(min) : schema.gte(min);
  return max === undefined ? low : exclusive ? low.lt(max) : low.lte(max);
}

export function number(bounds: NumberBounds = {}): Kind<number> {
  return {
    placeholder: "<x>",
    arity: "one",
    parse([text = ""], flag) {
      const infinite = /^\+?inf(inity)?$/i.test(text.trim());
      if (infinite && bounds.infinite === true) return Infinity;
      const value = text.trim() === "" || infinite ? NaN : Number(text);
      if (!Number.isFinite(value)) throw bad(flag, text, "a number");
      checkBounds(value, text, flag, bounds, "a number");
      return value;
    },
    schema:
      bounds.infinite === true
        ? z.union([bounded(z.number(), bounds), z.string()])
        : bounded(z.number(), bounds),
  };
}

export function integer(bounds: NumberBounds = {}): Kind<number> {
  return {
    placeholder: "<n>",
    arity: "one",
    parse([text = ""], flag) {
      const value = /^\s*[+-]?\d+\s*$/.test(text) ? Number(text) : NaN;
      if (!Number.isSafeInteger(value)) throw bad(flag, text, "a whole number");
      checkBounds(value, text, flag, bounds, "a whole number");
      return value;
    },
    schema: bounded(z.int(), bounds),
  };
}

/** A duration in ms inside; `bareUnit` is the unit of a bare number. */
export function duration(bareUnit: "ms" | "s" = "s", bounds: { readonly positive?: boolean } = {}): Kind<Ms> {
  return {
    placeholder: "<duration>",
    arity: "one",
    parse([text = ""], flag) {
      const value = parseDuration(text, flag, bareUnit);
      if (bounds.positive === true && value <= 0)
        throw new UserError(`${flag}: ${text} is out of range`, { hint: "give a duration above 0" });
      return value;
    },
    schema: z.union([z.number(), z.string()]),
  };
}

export function text(placeholder = "<text>"): Kind<string> {
  return {
    placeholder,
    arity: "one",
    parse([value = ""], flag) {
      if (value === "") throw new UserError(`${flag}: the value is empty`);
      return value;
    },
    schema: z.string(),
  };
}

export function choice<const T extends string>(...choices: readonly T[]): Kind<T> {
  return {
    placeholder: `<${choices.join("|")}>`,
    arity: "one",
    choices,
    parse([value = ""], flag) {
      const found = choices.find((option) => option === value);
      if (found === undefined)
        throw bad(flag, value, `one of ${choices.join(", ")}`, nearestHint(value, choices));
      return found;
    },
    schema: z.enum(choices as unknown as [string, ...string[]]),
  };
}

export function toggle(): Kind<boolean> {
  return { placeholder: "", arity: "switch", parse: () => true, schema: z.boolean() };
}

/** One word each time the flag is given; repeats add up. */
export function repeated<T>(item: Kind<T>, placeholder = item.placeholder): Kind<readonly T[]> {
  return list(item, placeholder, () => false);
}

/** Several words, each parsed by `item`; repeats of the flag add up. */
export function list<T>(
  item: Kind<T>,
  placeholder = "<item...>",
  accepts: (word: string) => boolean = () => true,
): Kind<readonly T[]> {
  return {
    placeholder,
    arity: "list",
    accepts,
    parse: (words, flag) => words.map((word) => item.parse([word], flag)),
    schema: z.union([z.array(item.schema), item.schema]),
  };
}

/** `KEY=VALUE` words, split at the first `=`. */
export function keyValues(): Kind<Readonly<Record<string, string>>> {
  return {
    placeholder: "<KEY=VALUE...>",
    arity: "list",
    accepts: (word) => /^[^=/]+=/.test(word),
    parse(words, flag) {
      const out: Record<string, string> = {};
      for (const word of words) {
        const at = word.indexOf("=");
        if (at <= 0)
          throw bad(
            flag,
            word,
            "KEY=VALUE",
            "write the key, an equals sign and the value, as in --metadata tp=8",
          );
        out[word.slice(0, at)] = word.slice(at + 1);
      }
      return out;
    },
    schema: z.union([
      z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
      z.array(z.string()),
    ]),
  };
}

export function jsonObject(): Kind<JsonObject> {
  return {
    placeholder: "<json>",
    arity: "one",
    parse([value = ""], flag) {
      let parsed: unknown;
      try {
        parsed = JSON.parse(value);
      } catch (error) {
        throw new UserError(`${flag}: not JSON (${(error as Error).message})`, { cause: error });
      }
      if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
        throw bad(flag, value, "a JSON object", 'as in {"top_k": 20}');
      return parsed as JsonObject;
    },
    schema: z.record(z.string(), z.unknown()),
  };
}

/** Comma-separated percentiles, 0–100. */
export function percentiles(): Kind<readonly number[]> {
  const item = number({ min: 0, max: 100 });
  return {
    placeholder: "<p,p,...>",
    arity: "one",
    parse: ([value = ""], flag) => [
      ...new Set(value.split(",").map((part) => item.parse([part.trim()], flag))),
    ],
    schema: z.union([z.array(z.number()), z.number(), z.string()]),
  };
}

export interface Option<T = unknown> {
  readonly kind: Kind<T>;
  /** One line, our own words. */
  readonly help: string;
  readonly group: string;
  /** Further flags with the same meaning (`--concurrency`). */
  readonly aliases?: readonly string[];
  /** Shown in the help; the code that resolves the options applies it. */
  readonly defaultText?: string;
  /** `-o` */
  readonly short?: string;
  /** A switch that can be negated: `--no-normalize` sets false. */
  readonly negatable?: boolean;
  /** Read, named and without effect here, because what it asks for always holds or does not apply. */
  readonly harmless?: string;
}

export type OptionTable = Readonly<Record<string, Option>>;
/** What was given: absent = not given. Defaults are applied by whoever resolves the options. */
export type Given<T extends OptionTable> = {
  readonly [K in keyof T]?: T[K] extends Option<infer V> ? V : never;
};

export function option<T>(
  kind: Kind<T>,
  group: string,
  help: string,
  more: Omit<Option<T>, "kind" | "group" | "help"> = {},
): Option<T> {
  return { kind, group, help, ...more };
}

/** `max_concurrency` → `--max-concurrency`. */
export function flagOf(key: string): string {
  return `--${key.replaceAll("_", "-")}`;
}

/** A value of `reprise.yaml`, as the words that the flag would have got. */
export function wordsOfYaml(value: JsonValue): readonly string[] {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).flatMap((item) => wordsOfYaml(item));
  if (typeof value === "object" && value !== null)
    return Object.entries(value).map(
      ([key, item]) => `${key}=${typeof item === "string" ? item : JSON.stringify(item)}`,
    );
  return [value === null ? "" : String(value)];
}

/** Parses YAML values by the same definitions as the flags. An unknown key is a UserError with the nearest one. */
export function givenFromObject<T extends OptionTable>(
  table: T,
  values: JsonObject,
  where: string | ((key: string) => string),
): Given<T> {
  const out: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(values)) {
    const found = table[key];
    const place = typeof where === "string" ? where : where(key);
    if (found === undefined)
      throw new UserError(`${place}: unknown key "${key}"`, {
        hint: nearestHint(key, Object.keys(table)) ?? "see docs for the keys",
      });
    if (value === undefined || value === null) continue;
    const name = `${place}: ${key}`;
    if (found.kind.arity === "switch") {
      if (typeof value !== "boolean") throw bad(name, JSON.stringify(value), "true or false");
      out[key] = value;
    } else if (found.kind.placeholder === "<json>") {
      out[key] = found.kind.parse([JSON.stringify(value)], name);
    } else if (found.kind.arity === "one" && Array.isArray(value)) {
      out[key] = found.kind.parse([value.join(",")], name);
    } else {
      out[key] = found.kind.parse(wordsOfYaml(value), name);
    }
  }
  return out as Given<T>;
}

/** JSON Schema (draft 2020-12) of a table, for editors. */
export function jsonSchemaOf(table: OptionTable): JsonObject {
  const shape: Record<string, z.ZodType> = {};
  for (const [key, { kind, help }] of Object.entries(table))
    shape[key] = kind.schema.optional().describe(help);
  return z.toJSONSchema(z.strictObject(shape)) as unknown as JsonObject;
}
