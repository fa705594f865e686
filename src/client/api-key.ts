/** Where an API key comes from: the environment or a file, never a flag's value. */
import { readFileSync } from "node:fs";
import { UserError } from "../core/failure.ts";
import { secrets } from "../core/secret.ts";

export interface ApiKeySource {
  /** Name of an environment variable that the user named; must then be set. */
  readonly envName?: string | null;
  readonly file?: string | null;
}

const DEFAULT_ENV = "OPENAI_API_KEY";

/** The key, registered as a secret; `null` when none was asked for and the default variable is not set. */
export function readApiKey(source: ApiKeySource, env: NodeJS.ProcessEnv = process.env): string | null {
  const key = source.file != null ? fromFile(source.file) : fromEnv(source.envName ?? null, env);
  if (key === null) return null;
  // eslint-disable-next-line no-control-regex
  if (/[^\x21-\x7e]/.test(key))
    throw new UserError("the API key holds white space or characters that a header cannot carry");
  secrets.add(key);
  return key;
}

function fromFile(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new UserError(
      `cannot read the API key file ${path} (${(error as NodeJS.ErrnoException).code ?? "error"})`,
    );
  }
  const key = text.replace(/^\ufeff/, "").trim();
  if (key === "") throw new UserError(`the API key file ${path} is empty`);
  return key;
}

function fromEnv(name: string | null, env: NodeJS.ProcessEnv): string | null {
  const value = env[name ?? DEFAULT_ENV]?.trim() ?? "";
  if (value !== "") return value;
  if (name === null) return null;
  throw new UserError(`the environment variable ${name} is not set`, {
    hint: "it was named as the source of the API key",
  });
}
