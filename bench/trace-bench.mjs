/**
 * Reading a trace of our own format, and reading and planning it, against a bare `JSON.parse` of its lines (goal: ≤ 1.5 ×), and
 * the memory that takes. Every measurement is a fresh process; they alternate, and medians are compared.
 *
 *   node bench/trace-bench.mjs [--rows 1000000] [--rounds 5]
 */
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { createReadStream, createWriteStream, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";

const flags = new Map();
for (let i = 2; i < process.argv.length; i += 2) flags.set(process.argv[i], process.argv[i + 1]);
const root = join(fileURLToPath(import.meta.url), "../..");

if (flags.has("--measure")) await measure(flags.get("--measure"), flags.get("--file"), flags.get("--bundle"));
else await main();

async function main() {
  const rows = Number(flags.get("--rows") ?? 1_000_000);
  const rounds = Number(flags.get("--rounds") ?? 5);
  const folder = mkdtempSync(join(tmpdir(), "reprise-trace-bench-"));
  try {
    const bundle = join(folder, "reader.mjs");
    await build({
      stdin: {
        contents: ["trace/reader", "trace/jobs", "plan/plan-trace"]
          .map((module) => `export * from "./src/${module}.ts";`)
          .join("\n"),
        resolveDir: root,
        loader: "ts",
      },
      bundle: true,
      platform: "node",
      format: "esm",
      outfile: bundle,
      logLevel: "error",
    });
    for (const shape of ["lengths", "text", "blocks"]) {
      const file = join(folder, `${shape}.jsonl`);
      const bytes = await writeRows(file, rows, shape);
      const times = { parse: [], read: [], plan: [] };
      const peak = { parse: 0, read: 0, plan: 0 };
      for (let round = 0; round < rounds; round++) {
        for (const what of ["parse", "read", "plan"]) {
          const args = [
            fileURLToPath(import.meta.url),
            "--measure",
            what,
            "--file",
            file,
            "--bundle",
            bundle,
          ];
          const result = JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }));
          if (result.rows !== rows) throw new Error(`${what}: ${result.rows} rows instead of ${rows}`);
          times[what].push(result.ms);
          peak[what] = Math.max(peak[what], result.rss_mb);
        }
      }
      const parse = median(times.parse);
      const against = (what) =>
        `${Math.round(median(times[what]))} ms, ratio ${(median(times[what]) / parse).toFixed(2)}, peak ${Math.round(peak[what])} MB`;
      console.log(
        `${shape.padEnd(8)} ${rows} rows, ${Math.round(bytes / rows)} bytes each: JSON.parse of the lines ${Math.round(parse)} ms; ` +
          `read ${against("read")}; read and planned ${against("plan")}`,
      );
      rmSync(file);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(what, file, bundle) {
  const start = process.hrtime.bigint();
  let rows = 0;
  let kept = null;
  if (what === "parse") {
    for await (const line of createInterface({ input: createReadStream(file, { highWaterMark: 1 << 20 }) })) {
      const row = JSON.parse(line);
      if (row.job_id !== "") rows++;
    }
  } else {
    const { readTrace, resolveJobs, planTrace } = await import(pathToFileURL(bundle).href);
    kept = await readTrace(file);
    if (what === "plan") kept = planTrace(resolveJobs(kept.requests));
    rows = kept.requests.length;
  }
  const ms = Number(process.hrtime.bigint() - start) / 1e6;
  console.log(JSON.stringify({ ms, rows, rss_mb: process.resourceUsage().maxRSS / 1024 }));
}

async function writeRows(file, rows, shape) {
  const out = createWriteStream(file);
  const text = "The quick brown fox jumps over the lazy dog, and the agent reads on. ".repeat(8);
  let bytes = 0;
  for (let i = 0; i < rows; i++) {
    const job = Math.floor(i / 10);
    const turn = i % 10;
    const row = {
      request_id: `job-${job}-turn-${turn}`,
      job_id: `job-${job}`,
      turn,
      arrival_ms: job * 100 + turn * 1234.5,
      ...(shape === "text" ? { prompt: `${i} ${text}` } : { prompt_tokens: 2000 + turn * 300 }),
      ...(shape === "blocks"
        ? {
            hash_ids: Array.from({ length: Math.ceil((2000 + turn * 300) / 128) }, (_, at) => job * 64 + at),
            block_tokens: 128,
          }
        : {}),
      max_tokens: 512,
      temperature: 0,
      recorded: { output_tokens: 100 + (i % 400) },
    };
    const line = `${JSON.stringify(row)}\n`;
    bytes += line.length;
    if (!out.write(line)) await new Promise((resolve) => out.once("drain", resolve));
  }
  await new Promise((resolve) => out.end(resolve));
  return bytes;
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
