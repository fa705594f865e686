/**
 * Parameter files of vLLM's sweep: a list of objects, or name → object. Names are the server's flags without dashes:
 * `max_num_seqs: 64` → `--max-num-seqs 64`, true → `--flag`, false → `--no-flag`, an object → its JSON text.
 */
import { readText } from "../core/lines.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { YamlSource } from "./yaml-source.ts";

/** Reads a file of cells. Keys become raw flags unless they are options of the load. */
export async function readParameterFile(
  path: string,
  loadOptions: readonly string[],
): Promise<Record<string, JsonObject>> {
  const source = new YamlSource(path, await readText(path));
  const { value } = source;
  const named: [string | null, JsonValue][] = Array.isArray(value)
    ? value.map((item: JsonValue) => [null, item])
    : typeof value === "object" && value !== null
      ? Object.entries(value).map(([name, item]) => [name, item ?? null])
      : [];
  if (named.length === 0) throw source.error([], "holds no list of cells, and no mapping of names to cells");
  const cells: Record<string, JsonObject> = {};
  for (const [index, [name, item]] of named.entries()) {
    if (typeof item !== "object" || item === null || Array.isArray(item))
      throw source.error([name ?? index], "a cell must be a mapping of parameters");
    const { _benchmark_name: given, ...parameters } = item as Record<string, JsonValue>;
    const title = name ?? (typeof given === "string" ? given : `cell ${index + 1}`);
    if (Object.hasOwn(cells, title)) throw source.error([name ?? index], `two cells are called "${title}"`);
    cells[title] = Object.fromEntries(
      Object.entries(parameters).map(([key, parameter]) => [flagName(key, loadOptions), parameter]),
    );
  }
  return cells;
}

function flagName(key: string, loadOptions: readonly string[]): string {
  const bare = key.replace(/^-+/, "").replaceAll("-", "_");
  if (loadOptions.includes(bare)) return bare;
  return key.startsWith("-") ? key : `--${key.replaceAll("_", "-")}`;
}
