/** Files that the package ships beside its code (examples), from wherever the code runs: dist/, dist/chunks/ or src/. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The path of a shipped file or folder. Throws if the package is not whole. */
export function packageFile(...parts: readonly string[]): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  for (let up = 0; up < 4; up++) {
    const path = join(folder, ...parts);
    if (existsSync(join(folder, "package.json")) && existsSync(path)) return path;
    folder = dirname(folder);
  }
  throw new Error(`the package is not whole: ${parts.join("/")} is missing`);
}
