/** `--config reprise.yaml`: options by their keys, alone or in groups; a flag wins over the file. */
import { givenFromObject, type Given, type OptionTable } from "../run/options/option.ts";
import { readConfig } from "../sweep/read-config.ts";

/** The flags, over what the file named by `config` says. Mistakes in the file are `UserError`s with `file:line:column`. */
export async function withConfigFile<T extends OptionTable>(
  table: T,
  flags: Given<T>,
  env: NodeJS.ProcessEnv,
): Promise<Given<T>> {
  const { config: path } = flags as { config?: string };
  if (path === undefined) return flags;
  const { options, whereOption } = await readConfig(path, Object.keys(table), env);
  return { ...givenFromObject(table, options, whereOption), ...flags };
}
