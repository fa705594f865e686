/**
 * Holds the imports of src/ to one table: a folder imports from lower layers and from the peers named, never upwards.
 * docs/architecture.md shows the same table; a test keeps the two equal.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const src = join(root, "src");

/** layer, and the peers of the same layer that may be imported. */
export const LAYERS: Record<string, { layer: number; peers?: readonly string[] }> = {
  core: { layer: 0 },
  trace: { layer: 1 },
  record: { layer: 1 },
  generate: { layer: 2 },
  prompt: { layer: 2, peers: ["client"] },
  metric: { layer: 2 },
  plan: { layer: 2, peers: ["prompt"] },
  client: { layer: 2 },
  dispatch: { layer: 3 },
  sim: { layer: 3 },
  report: { layer: 3 },
  compare: { layer: 3 },
  run: { layer: 4, peers: ["server"] },
  server: { layer: 4 },
  sweep: { layer: 5 },
  ui: { layer: 5, peers: ["sweep"] },
  cli: { layer: 6 },
};

function sourceFiles(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return sourceFiles(path);
    return name.endsWith(".ts") && !name.endsWith(".test.ts") ? [path] : [];
  });
}

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s[^;]*?from\s*["'](\.[^"']+)["']|import\(\s*["'](\.[^"']+)["']\s*\)/g;

describe("architecture", () => {
  const files = sourceFiles(src);

  it("knows every folder of src", () => {
    const folders = readdirSync(src).filter((name) => statSync(join(src, name)).isDirectory());
    expect(folders.filter((name) => !(name in LAYERS))).toEqual([]);
  });

  it("imports only downwards, or from a peer named in the table", () => {
    const wrong: string[] = [];
    for (const file of files) {
      const from = relative(src, file).split("/")[0] as string;
      for (const match of readFileSync(file, "utf8").matchAll(IMPORT)) {
        const target = resolve(dirname(file), (match[1] ?? match[2]) as string);
        const to = relative(src, target).split("/")[0] as string;
        if (to === from || to.startsWith("..")) continue;
        const own = LAYERS[from];
        const other = LAYERS[to];
        const allowed =
          own !== undefined &&
          other !== undefined &&
          (other.layer < own.layer || (other.layer === own.layer && (own.peers ?? []).includes(to)));
        if (!allowed) wrong.push(`${relative(root, file)} imports ${to}/`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it("keeps files at 400 lines or less", () => {
    const long = files
      .map((file) => ({
        file: relative(root, file),
        lines: readFileSync(file, "utf8").split("\n").length - 1,
      }))
      .filter(({ lines }) => lines > 400);
    expect(long).toEqual([]);
  });

  it("has no folder or file that is grouped by kind", () => {
    expect(
      files.filter((file) => /(^|\/)(utils?|common|helpers?|types|misc)(\.ts$|\/)/.test(relative(src, file))),
    ).toEqual([]);
  });
});

describe("docs/architecture.md", () => {
  it("shows the table that the code is held to", () => {
    const page = readFileSync(join(root, "docs/architecture.md"), "utf8");
    const table = /<!-- layers -->([\s\S]*?)<!-- \/layers -->/.exec(page)?.[1] ?? "";
    const rows = table
      .split("\n")
      .map((line) => line.split("|").map((cell) => cell.trim()))
      .filter((cells) => /^\d+$/.test(cells[2] ?? ""));
    const shown = Object.fromEntries(rows.map((cells) => [cells[1], [Number(cells[2]), cells[3]]]));
    const held = Object.fromEntries(
      Object.entries(LAYERS).map(([name, { layer, peers }]) => [name, [layer, (peers ?? []).join(", ")]]),
    );
    expect(shown).toEqual(held);
  });
});
