/** `--hyperparameter-path`: a YAML mapping, merged into every request body. */
import { parseDocument } from "yaml";
import { UserError } from "../core/failure.ts";
import type { JsonObject } from "../core/json.ts";
import { readText } from "../core/lines.ts";

/** {@link UserError} with `file:line` for what is no YAML mapping. */
export async function readHyperparameters(path: string): Promise<JsonObject> {
  const document = parseDocument(await readText(path));
  const [error] = document.errors;
  if (error !== undefined)
    throw new UserError(
      `${path}:${error.linePos?.[0].line ?? 1}: ${error.message.split("\n")[0] ?? "not YAML"}`,
    );
  const value: unknown = document.toJS();
  if (value === null) return {};
  if (typeof value !== "object" || Array.isArray(value))
    throw new UserError(`${path}: not a mapping of body fields`, { hint: "as in top_p: 0.8" });
  return value as JsonObject;
}
