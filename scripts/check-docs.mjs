// Runs every command of the README and docs/: the `sh` blocks of a page, one after the other, in a folder of its own, against a
// simulated engine. A block that cannot run here says so in its first line (```sh skip: needs a vLLM server) and is listed.
// `node scripts/check-docs.mjs [page...]`; npm commands are left out (CI runs them by themselves).
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const cli = join(root, "dist/cli.js");
const pages =
  process.argv.length > 2
    ? process.argv.slice(2)
    : [
        "README.md",
        ...readdirSync(join(root, "docs"))
          .filter((name) => name.endsWith(".md"))
          .sort()
          .map((name) => `docs/${name}`),
      ];

/** What the commands of the docs take for granted: traces by their usual names, two runs to compare. */
const PREPARE = `
reprise generate --num-jobs 4 --max-turns 3 --span 2s --target-tok-per-s 500 --seed 1 -o trace.jsonl
cp trace.jsonl agents.jsonl
for i in 1 2 3 4 5 6 7 8; do echo '{"messages":[{"role":"user","content":"question '$i'"}],"max_tokens":8}'; done > chats.jsonl
echo 'top_p: 0.9' > hyper.yaml
echo '[{"id":"a","conversations":[{"from":"human","value":"what is a trace and who wrote it"},{"from":"gpt","value":"a file of requests that somebody recorded"}]}]' > sharegpt.json
reprise replay trace.jsonl --backend sim --virtual-time --seed 1 --out runs/main -q --json > /dev/null
reprise replay trace.jsonl --backend sim --virtual-time --seed 1 --out runs/pull-request -q --json > /dev/null
`;

let failed = 0;
let ran = 0;
const server = await startSim();
for (const page of pages) {
  const blocks = shellBlocks(readFileSync(join(root, page), "utf8"));
  for (const { skip, line } of blocks)
    if (skip !== null) console.log(`docs: ${page}:${line} not run: ${skip}`);
  const script = blocks
    .filter(({ skip }) => skip === null)
    .map(({ text }) => text)
    .join("\n");
  if (!/^\s*(reprise|cd) /m.test(script)) continue;
  const folder = mkdtempSync(join(tmpdir(), "reprise-docs-"));
  try {
    mkdirSync(join(folder, "bin"));
    writeFileSync(join(folder, "bin/reprise"), `#!/bin/sh\nexec "${process.execPath}" "${cli}" "$@"\n`, {
      mode: 0o755,
    });
    cpSync(join(root, "examples"), join(folder, "examples"), { recursive: true });
    const commands = runnable(script, server.url);
    const done = spawnSync("bash", ["-euo", "pipefail", "-c", `${PREPARE}\n${commands}`], {
      cwd: folder,
      env: { ...process.env, PATH: `${join(folder, "bin")}:${process.env.PATH}` },
      encoding: "utf8",
      timeout: 300_000,
    });
    ran++;
    if (done.status === 0) console.log(`docs: ${page}: ran`);
    else {
      failed++;
      console.log(
        `docs: ${page}: FAILED (${done.status ?? done.signal})\n${commands}\n--- output\n${done.stdout.slice(-3000)}${done.stderr.slice(-3000)}`,
      );
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
server.stop();
console.log(`docs: ${ran} pages ran, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

function shellBlocks(markdown) {
  const blocks = [];
  let open = null;
  markdown.split("\n").forEach((text, index) => {
    const fence = /^```(\w*)\s*(.*)$/.exec(text);
    if (open === null && fence !== null) {
      open = {
        language: fence[1],
        skip: /^skip:\s*(.*)$/.exec(fence[2])?.[1] ?? null,
        line: index + 1,
        lines: [],
      };
    } else if (open !== null && fence !== null) {
      if (open.language === "sh")
        blocks.push({ text: open.lines.join("\n"), skip: open.skip, line: open.line });
      open = null;
    } else open?.lines.push(text);
  });
  return blocks;
}

/** The same commands, with this machine's server, and the newest run where a page says `<run>`. */
function runnable(script, url) {
  return script
    .split("\n")
    .filter((line) => !/^\s*npm /.test(line))
    .join("\n")
    .replaceAll(/http:\/\/(localhost|127\.0\.0\.1):(8000|8080|30000)/g, url)
    .replaceAll(/--port 8000\b/g, `--port ${new URL(url).port}`)
    .replaceAll("runs/<run>", '"$(ls -td runs/*/ | head -n 1)"')
    .replaceAll(/--model [\w./-]+/g, "--model my-model");
}

function startSim() {
  const child = spawn(process.execPath, [cli, "sim", "--port", "0", "--alias", "my-model"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  return new Promise((resolve, reject) => {
    let text = "";
    child.stderr.setEncoding("utf8").on("data", (part) => {
      text += part;
      const url = /at (http:\/\/\S+)/.exec(text)?.[1];
      if (url !== undefined) resolve({ url, stop: () => child.kill("SIGTERM") });
    });
    child.on("exit", (code) => reject(new Error(`the simulated engine ended (${code}): ${text}`)));
  });
}
