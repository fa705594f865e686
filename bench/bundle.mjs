/** Bundles what a bench needs of the sources into one module for bare Node. */
import { build } from "esbuild";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

/** Writes `outfile`, which runs these modules (paths in the tree) and exports what they export. */
export async function bundle(outfile, ...modules) {
  await build({
    stdin: {
      contents: modules.map((module) => `export * from "./${module}";`).join("\n"),
      resolveDir: root,
      loader: "ts",
    },
    bundle: true,
    platform: "node",
    format: "esm",
    outfile,
    banner: {
      // CommonJS packages inside the bundle call require() for Node's own modules.
      js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
    },
    logLevel: "error",
  });
}
