/**
 * Puts node-llama-cpp and its binary for this machine's CPU under .cache/engines/node-llama-cpp (about 84 MB; all its optional
 * binaries would be 730), and a tiny random model beside it. It is an optional peer: neither the build nor `npm ci` needs it.
 *
 *   node scripts/engines/node-llama-cpp.mjs          set up (once), print the command
 *   node scripts/engines/node-llama-cpp.mjs --check  say whether it is there; exit 1 if not
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const repository = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const home = join(repository, ".cache", "engines", "node-llama-cpp");
const model = join(repository, ".cache", "engines", "tiny.gguf");
const range = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")).peerDependencies[
  "node-llama-cpp"
];
const version = range.replace(/^[~^]/, "");
const there = () => existsSync(join(home, "node_modules", "node-llama-cpp", "package.json"));
const usage = `reprise replay trace.jsonl --backend llama-cpp --model ${model} --engine library=${home}`;

if (process.argv.includes("--check")) {
  const ready = there() && existsSync(model);
  console.log(ready ? usage : "node-llama-cpp is not set up: node scripts/engines/node-llama-cpp.mjs");
  process.exit(ready ? 0 : 1);
}
if (!there()) {
  const binary = {
    "linux x64": "linux-x64",
    "linux arm64": "linux-arm64",
    "darwin arm64": "mac-arm64-metal",
    "darwin x64": "mac-x64",
    "win32 x64": "win-x64",
  }[`${process.platform} ${process.arch}`];
  if (binary === undefined) {
    console.error(`node-llama-cpp has no ready binary for ${process.platform} ${process.arch}`);
    process.exit(1);
  }
  mkdirSync(home, { recursive: true });
  // A package of its own, so that npm does not climb up to ours.
  writeFileSync(join(home, "package.json"), '{ "private": true }\n');
  const packages = [`node-llama-cpp@${version}`, `@node-llama-cpp/${binary}@${version}`];
  const flags = ["--prefix", home, "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund"];
  execFileSync("npm", ["install", ...flags, ...packages], {
    cwd: home,
    stdio: ["ignore", "inherit", "inherit"],
  });
}
if (!existsSync(model)) {
  execFileSync(process.execPath, [join(repository, "scripts", "engines", "tiny-gguf.mjs"), model], {
    stdio: ["ignore", "inherit", "inherit"],
  });
}
console.log(usage);
