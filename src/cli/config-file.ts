/** `--config reprise.yaml`: options by their keys; a flag wins over the file. */
import { LineCounter, parseDocument } from "yaml";
import { UserError } from "../core/failure.ts";
import type { JsonObject } from "../core/json.ts";
import { readText } from "../core/lines.ts";
import { givenFromObject, type Given, type OptionTable } from "../run/options/option.ts";

/** The flags, over what the file named by `config` says. */
export async function withConfigFile<T extends OptionTable>(table: T, flags: Given<T>): Promise<Given<T>> {
  const path = (flags as { config?: string }).config;
  if (path === undefined) return flags;
  return { ...givenFromObject(table, await readYamlObject(path), path), ...flags };
}

/** A YAML file that holds a mapping. Errors carry `file:line:column`. */
export async function readYamlObject(path: string): Promise<JsonObject> {
  const lines = new LineCounter();
  const document = parseDocument(await readText(path), { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0]);
    throw new UserError(`${path}:${line}:${col}: ${error.message}`);
  }
  const value: unknown = document.toJS();
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new UserError(`${path}: holds no mapping of options`, {
      hint: "write one option a line, as in max_concurrency: 8",
    });
  return value as JsonObject;
}
