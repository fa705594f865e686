/**
 * Reading a trace of our own format, and reading and planning it, against a bare `JSON.parse` of its lines (goal: ≤ 1.5 ×), and
 * the memory that takes. Every measurement is a fresh process; they alternate, and medians are compared.
 *
 *   node bench/trace-bench.mjs [--rows 1000000] [--rounds 5]
 */
import { execFileSync } from "node:child_process";
import { createReadStream, createWriteStream, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bundle } from "./bundle.mjs";
import { flag } from "./flag.mjs";
import { median } from "./quantile.mjs";

const measured = flag("--measure");
if (measured !== null) await measure(measured, flag("--file"), flag("--bundle"));
else await main();

async function main() {
  const rows = Number(flag("--rows") ?? 1_000_000);
  const rounds = Number(flag("--rounds") ?? 5);
  const folder = mkdtempSync(join(tmpdir(), "reprise-trace-bench-"));
  try {
    const reader = join(folder, "reader.mjs");
    await bundle(reader, "src/trace/reader.ts", "src/trace/jobs.ts", "src/plan/plan-trace.ts");
    for (const shape of ["lengths", "text", "blocks"]) {
      const file = join(folder, `${shape}.jsonl`);
      const bytes = await writeRows(file, rows, shape);
      const times = { parse: [], read: [], plan: [] };
      const peak = { parse: 0, read: 0, plan: 0 };
      for (let round = 0; round < rounds; round++) {
        for (const what of ["parse", "read", "plan"]) {
          const words = ["--measure", what, "--file", file, "--bundle", reader];
          const args = [fileURLToPath(import.meta.url), ...words];
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

async function measure(what, file, reader) {
  const start = process.hrtime.bigint();
  let rows = 0;
  let kept = null;
  if (what === "parse") {
    for await (const line of createInterface({ input: createReadStream(file, { highWaterMark: 1 << 20 }) })) {
      const row = JSON.parse(line);
      if (row.job_id !== "") rows++;
    }
  } else {
    const { readTrace, resolveJobs, planTrace } = await import(pathToFileURL(reader).href);
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
