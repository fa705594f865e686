/** `--config reprise.yaml`: options by their keys, alone or in groups; a flag wins over the file. */
import { givenFromObject, type Given, type OptionTable } from "../run/options/option.ts";
import { CELL_OPTION_KEYS } from "../sweep/cell-verb.ts";
import { readConfig } from "../sweep/read-config.ts";
import type { Io } from "./verb.ts";

/**
 * The flags, over what the file named by `config` says. Mistakes in the file are `UserError`s with `file:line:column`. One file
 * serves replay, bench and sweep: options of the others are named on stderr and left alone.
 */
export async function withConfigFile<T extends OptionTable>(
  table: T,
  flags: Given<T>,
  io: Pick<Io, "env" | "err">,
): Promise<Given<T>> {
  const { config: path } = flags as { config?: string };
  if (path === undefined) return flags;
  const { options, whereOption } = await readConfig(
    path,
    [...CELL_OPTION_KEYS, ...Object.keys(table)],
    io.env,
  );
  const own = Object.entries(options).filter(([key]) => Object.hasOwn(table, key));
  const others = Object.keys(options).filter((key) => !Object.hasOwn(table, key));
  if (others.length > 0) io.err(`note: ${path}: not of this command, and not used: ${others.join(", ")}\n`);
  return { ...givenFromObject(table, Object.fromEntries(own), whereOption), ...flags };
}
