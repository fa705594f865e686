/** The simulator's options as command-line flags, derived from the schema: one definition for flags, YAML and code. */
import { z } from "zod";
import { UserError } from "../core/failure.ts";
import { simConfigSchema, type SimConfigInput } from "./config.ts";

export type SimFlagType = "int" | "number" | "boolean" | "string" | "choice" | "ints" | "json";

export interface SimFlag {
  /** Key in the configuration: `max_num_seqs`. */
  readonly key: string;
  /** `--max-num-seqs`; a boolean also has `--no-...`. */
  readonly flag: string;
  readonly type: SimFlagType;
  readonly choices: readonly string[] | null;
  readonly description: string;
  /** As JSON; `null` = derived, or off. */
  readonly default: unknown;
}

interface PropertySchema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly PropertySchema[];
  readonly items?: PropertySchema;
  readonly default?: unknown;
  readonly description?: string;
}

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  linear_step: "step time as a plain sum instead of the roofline (JSON)",
  faults: "faults to inject, for tests of clients (JSON)",
};

function typeOf(property: PropertySchema): SimFlagType {
  const plain = property.anyOf?.find(({ type }) => type !== "null") ?? property;
  if (plain.enum !== undefined) return "choice";
  switch (plain.type) {
    case "integer":
      return "int";
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "string":
      return "string";
    case "array":
      return "ints";
    default:
      return "json";
  }
}

/** Every option, in the order of the schema. */
export const SIM_FLAGS: readonly SimFlag[] = (() => {
  const schema = z.toJSONSchema(simConfigSchema, { io: "input" });
  const properties = (schema.properties ?? {}) as Record<string, PropertySchema>;
  return Object.entries(properties).map(([key, property]) => ({
    key,
    flag: `--${key.replaceAll("_", "-")}`,
    type: typeOf(property),
    choices: property.enum ?? null,
    description: property.description ?? DESCRIPTIONS[key] ?? key,
    default: property.default ?? null,
  }));
})();

/**
 * Flag values as a command line gives them (strings, booleans), by key → configuration input. Only turns text into
 * values: `resolveSimConfig` checks them. Throws a `UserError` for text that is not of the flag's type.
 */
export function simConfigFromFlags(values: Readonly<Record<string, unknown>>): SimConfigInput {
  const input: Record<string, unknown> = {};
  for (const flag of SIM_FLAGS) {
    const value = values[flag.key];
    if (value !== undefined) input[flag.key] = typeof value === "string" ? parseValue(flag, value) : value;
  }
  return input as SimConfigInput;
}

function parseValue(flag: SimFlag, text: string): unknown {
  switch (flag.type) {
    case "string":
    case "choice":
      return text;
    case "boolean":
      if (text === "true" || text === "false") return text === "true";
      break;
    case "int":
    case "number":
      if (text.trim() !== "" && Number.isFinite(Number(text))) return Number(text);
      break;
    case "ints": {
      const numbers = text.split(",").map((part) => (part.trim() === "" ? Number.NaN : Number(part)));
      if (numbers.every(Number.isFinite)) return numbers;
      break;
    }
    case "json":
      try {
        return JSON.parse(text) as unknown;
      } catch {
        break;
      }
  }
  throw new UserError(
    `${flag.flag}: "${text}" is no ${flag.type === "ints" ? "list of numbers" : flag.type}`,
  );
}
