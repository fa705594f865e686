// Bundles the command line into dist/: `dist/cli.js` runs as it is, without node_modules. The browser code of the pages goes to
// dist/web/, from where reports take it whole into their one file.
import { execFileSync } from "node:child_process";
import { build } from "esbuild";
import { chmodSync, copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

const { metafile } = await build({
  metafile: true,
  absWorkingDir: root,
  // A lane of load is a worker thread with an entry of its own.
  entryPoints: { cli: "src/cli/main.ts", lane: "src/run/lanes/lane-worker.ts" },
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
  // esbuild: only code that runs from source asks for it.
  external: ["node-llama-cpp", "@nats-io/*", "esbuild"],
  logLevel: "warning",
});
const cli = join(root, "dist/cli.js");
chmodSync(cli, 0o755);

// The JSON Schema of reprise.yaml, for editors: printed by the command that was just built.
const schema = join(root, "dist/reprise.schema.json");
writeFileSync(schema, execFileSync(process.execPath, [cli, "sweep", "--print-schema"]));

const pages = await build({
  absWorkingDir: root,
  metafile: true,
  entryPoints: ["web/report.tsx", "web/report.css", "web/ui.tsx", "web/ui.css"],
  outdir: "dist/web",
  bundle: true,
  minify: true,
  format: "iife",
  platform: "browser",
  target: ["chrome111", "firefox113", "safari16.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "ascii",
  logLevel: "warning",
});
// Both are put inside <script> and <style>: nothing in them may end those.
for (const name of readdirSync(join(root, "dist/web"))) {
  if (/<\/(script|style)|<!--/i.test(readFileSync(join(root, "dist/web", name), "utf8")))
    throw new Error(`dist/web/${name} holds text that ends its element`);
}

// vLLM's engine runs in a Python process of its own.
const child = join(root, "dist/vllm_child.py");
copyFileSync(join(root, "src/client/engines/vllm/vllm_child.py"), child);

// What an earlier build left is removed only now: a command that runs meanwhile still finds its chunks for most of the build.
const made = new Set(
  [metafile, pages.metafile].flatMap(({ outputs }) => Object.keys(outputs)).map((path) => join(root, path)),
)
  .add(child)
  .add(schema);
for (const entry of readdirSync(join(root, "dist"), { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name);
  if (entry.isFile() && !made.has(path)) rmSync(path);
}
