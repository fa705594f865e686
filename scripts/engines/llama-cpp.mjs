/**
 * Puts a real llama.cpp server under .cache/engines/llama.cpp, and a tiny random model beside it. Nothing is installed:
 * Debian's packages are fetched with apt-get into that folder, unpacked there, and run by their own loader, so the
 * machine's own libraries do not matter.
 *
 *   node scripts/engines/llama-cpp.mjs          set up (once), print the command
 *   node scripts/engines/llama-cpp.mjs --check  say whether it is there; exit 1 if not
 */
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const repository = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const home = join(repository, ".cache", "engines", "llama.cpp");
const server = join(home, "llama-server");
const model = join(repository, ".cache", "engines", "tiny.gguf");

if (process.argv.includes("--check")) {
  const there = existsSync(server) && existsSync(model);
  console.log(
    there ? `${server} -m ${model}` : "llama.cpp is not set up: node scripts/engines/llama-cpp.mjs",
  );
  process.exit(there ? 0 : 1);
}

if (!existsSync(server)) setUp();
if (!existsSync(model)) {
  execFileSync(process.execPath, [join(repository, "scripts", "engines", "tiny-gguf.mjs"), model], {
    stdio: ["ignore", "inherit", "inherit"],
  });
}
console.log(spawnSync(server, ["--version"], { encoding: "utf8" }).stderr.trim());
console.log(`${server} -m ${model} --port 8080 --metrics`);

function setUp() {
  if (process.platform !== "linux" || !existsSync("/usr/bin/apt-get")) {
    console.error("this set-up needs Linux with apt-get; elsewhere install llama.cpp and use `llama-server`");
    process.exit(1);
  }
  const work = join(home, "apt");
  const root = join(home, "root");
  const packages = join(home, "deb");
  rmSync(home, { recursive: true, force: true });
  for (const folder of [
    join(work, "lists", "partial"),
    join(work, "cache", "archives", "partial"),
    packages,
    root,
  ]) {
    mkdirSync(folder, { recursive: true });
  }
  // The mirror of the machine's own sources, another suite, its own lists: the machine's apt state stays as it is.
  const sources = join(work, "sources.list");
  writeFileSync(
    sources,
    `deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror()} sid main\n`,
  );
  const options = [
    `Dir::Etc::sourcelist=${sources}`,
    "Dir::Etc::sourceparts=-",
    `Dir::State::lists=${join(work, "lists")}`,
    `Dir::Cache=${join(work, "cache")}`,
    "Acquire::Languages=none",
    "APT::Sandbox::User=root",
  ].flatMap((option) => ["-o", option]);
  const run = (command, args, cwd = home) =>
    execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });

  run("apt-get", [...options, "-qq", "update"]);
  const wanted = run("apt-cache", [
    ...options,
    "depends",
    "--recurse",
    "--no-recommends",
    "--no-suggests",
    "--no-conflicts",
    "--no-breaks",
    "--no-replaces",
    "--no-enhances",
    "llama.cpp-tools",
  ])
    .split("\n")
    .filter((line) => /^[a-z0-9]/.test(line));
  run("apt-get", [...options, "-qq", "download", ...new Set(wanted)], packages);
  for (const file of readdirSync(packages)) {
    if (file.endsWith(".deb")) run("dpkg-deb", ["-x", join(packages, file), root]);
  }

  const libraries = join(root, "usr", "lib", "x86_64-linux-gnu");
  const backends = join(libraries, "ggml", "backends0");
  // ggml looks for its CPU variants beside the executable, which is the loader here.
  for (const name of readdirSync(backends))
    symlinkSync(join("ggml", "backends0", name), join(libraries, name));
  const script = `#!/bin/sh
# Debian's llama-server, run by the loader and the libraries it was built for.
exec "${join(libraries, "ld-linux-x86-64.so.2")}" --library-path "${libraries}:${join(libraries, "llama")}" "${join(root, "usr", "bin", "llama-server")}" "$@"
`;
  writeFileSync(`${server}.new`, script);
  chmodSync(`${server}.new`, 0o755);
  rmSync(work, { recursive: true });
  rmSync(packages, { recursive: true });
  // Last, so that a set-up that was cut short is begun again.
  renameSync(`${server}.new`, server);
}

/** The Debian mirror this machine already uses. */
function mirror() {
  const text = execFileSync("apt-get", ["indextargets", "--format", "$(SITE)"], { encoding: "utf8" });
  return (
    text.split("\n").find((site) => /debian\.org\/debian\/?$/.test(site)) ?? "http://deb.debian.org/debian"
  );
}
