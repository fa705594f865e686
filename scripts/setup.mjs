// Sets up what is missing, and says what it does: dependencies from the lock file, then the build.
// Plain Node, no dependencies: it runs on a bare machine.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const say = (text) => process.stderr.write(`setup: ${text}\n`);

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  say(`Node.js ${process.versions.node} is too old; Reprise needs 20.19 or newer.`);
  process.exit(2);
}

function run(what, command, args) {
  say(what);
  const done = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2] });
  if (done.status !== 0) {
    say(`failed: ${command} ${args.join(" ")} (exit ${done.status ?? done.signal ?? done.error?.message})`);
    process.exit(1);
  }
}

// The lock file that node_modules was made from is remembered beside it.
const lock = readFileSync(join(root, "package-lock.json"), "utf8");
const stamp = join(root, "node_modules/.reprise-lock");
const installed = existsSync(stamp) ? readFileSync(stamp, "utf8") : "";
if (installed !== lock) {
  run("installing the dependencies of package-lock.json (npm ci)", "npm", [
    "ci",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
  ]);
  writeFileSync(stamp, lock);
}

function newest(path) {
  const at = statSync(path);
  if (!at.isDirectory()) return at.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newest(join(path, name))));
}
const cli = join(root, "dist/cli.js");
const sources = ["src", "web", "scripts/build.mjs", "package.json"]
  .map((p) => join(root, p))
  .filter(existsSync);
if (!existsSync(cli) || statSync(cli).mtimeMs < Math.max(...sources.map(newest))) {
  run("building dist/ (esbuild)", process.execPath, ["scripts/build.mjs"]);
}
