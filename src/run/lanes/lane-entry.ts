/** Where the code of a lane is: a bundle of its own beside the command line's, made on the fly when running from source. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

let fromSource: Promise<URL> | null = null;

export function laneEntry(): Promise<URL> {
  for (const path of ["./lane.js", "../lane.js"]) {
    const url = new URL(path, import.meta.url);
    if (existsSync(url)) return Promise.resolve(url);
  }
  fromSource ??= bundleSource();
  return fromSource;
}

async function bundleSource(): Promise<URL> {
  const source = fileURLToPath(new URL("./lane-worker.ts", import.meta.url));
  if (!existsSync(source)) throw new Error("the package is not whole: dist/lane.js is missing");
  const { build } = await import("esbuild");
  const folder = mkdtempSync(join(tmpdir(), "reprise-lane-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const outfile = join(folder, "lane.mjs");
  await build({
    entryPoints: [source],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    logLevel: "error",
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
    },
  });
  return pathToFileURL(outfile);
}
