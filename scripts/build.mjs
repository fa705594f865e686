// Bundles the command line into dist/: `dist/cli.js` runs as it is, without node_modules.
import { build } from "esbuild";
import { chmodSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

rmSync(join(root, "dist"), { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: { cli: "src/cli/main.ts" },
  outdir: "dist",
  chunkNames: "chunks/[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  sourcemap: "linked",
  sourcesContent: false,
  legalComments: "linked",
  define: { __REPRISE_VERSION__: JSON.stringify(version) },
  banner: {
    // CommonJS packages inside the bundle call require() for Node's own modules.
    js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
  },
  external: ["node-llama-cpp", "@nats-io/*"],
  logLevel: "warning",
});
const cli = join(root, "dist/cli.js");
chmodSync(cli, 0o755);
