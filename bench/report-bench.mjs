/**
 * `report` on a large log: time and peak memory of reading and summarising it (goal: 1,000,000 records × 100 tokens in
 * ≤ 60 s and < 1.5 GB, linear). Each size is a fresh process; `parse` is a bare `JSON.parse` of the same lines.
 *
 *   node bench/report-bench.mjs [--records 250000,500000,1000000] [--shape plain|told|spread] [--single true]
 */
import { execFileSync } from "node:child_process";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bundle } from "./bundle.mjs";
import { flag } from "./flag.mjs";

const CHUNKS = 100;
const TURNS = 20;

if (flag("--measure") !== null) await measure();
else await main();

async function main() {
  const sizes = (flag("--records") ?? "250000,500000,1000000").split(",").map(Number);
  const folder = mkdtempSync(join(tmpdir(), "reprise-report-bench-"));
  try {
    const report = join(folder, "report.mjs");
    await bundle(
      report,
      "src/record/read-run.ts",
      "src/core/lines.ts",
      "src/metric/summarize.ts",
      "src/report/index.ts",
    );
    for (const records of sizes) {
      const run = join(folder, `run-${records}`);
      writeRun(run, records, flag("--shape") ?? "plain", flag("--single") === "true" ? 1 : TURNS);
      const megabytes = Math.round(statSync(join(run, "records.jsonl")).size / 1e6);
      const of = (what) =>
        JSON.parse(
          execFileSync(
            process.execPath,
            [fileURLToPath(import.meta.url), "--measure", what, "--run", run, "--bundle", report],
            { encoding: "utf8", maxBuffer: 1 << 26 },
          ),
        );
      const parse = of("parse");
      const whole = of("report");
      console.log(
        `${records} records × ${CHUNKS} chunks (${megabytes} MB): report ${(whole.ms / 1000).toFixed(1)} s ` +
          `(bare JSON.parse ${(parse.ms / 1000).toFixed(1)} s), ` +
          `CPU ${(whole.cpu_ms / 1000).toFixed(1)} s (${(whole.cpu_ms / parse.cpu_ms).toFixed(2)} × bare), peak ${whole.peak_mb} MB; ttft n ${whole.n}, itl n ${whole.itl}`,
      );
      rmSync(run, { recursive: true, force: true });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure() {
  const { readRun, readLineBatches, analyzeRun, renderReport } = await import(
    pathToFileURL(flag("--bundle")).href
  );
  const folder = flag("--run");
  const began = performance.now();
  let facts = {};
  if (flag("--measure") === "parse") {
    for await (const lines of readLineBatches(join(folder, "records.jsonl")))
      for (const line of lines) JSON.parse(line.text);
  } else {
    const run = await readRun(folder);
    const analysis = await analyzeRun({ manifest: run.manifest, jobs: run.jobs(), records: run.records() });
    const text = renderReport("terminal", { analysis, records: run.records, options: {} });
    facts = {
      n: analysis.summary.requests.ttft.n,
      itl: analysis.summary.requests.itl.n,
      length: text.length,
    };
  }
  const ms = performance.now() - began;
  const cpu = process.cpuUsage();
  console.log(
    JSON.stringify({
      ms,
      cpu_ms: (cpu.user + cpu.system) / 1000,
      peak_mb: Math.round(process.resourceUsage().maxRSS / 1024),
      ...facts,
    }),
  );
}

/** A run with times like a real one: TTFT 50–2000 ms, gaps of about 20 ms. Seeded: the same every time. */
function writeRun(folder, records, shape, turns) {
  mkdirSync(folder);
  let state = 12345;
  const random = () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648;
  };
  const jobs = Math.ceil(records / turns);
  const round = (ms) => Math.round(ms * 1000) / 1000;
  const file = openSync(join(folder, "records.jsonl"), "w");
  const jobFile = openSync(join(folder, "jobs.jsonl"), "w");
  const free = new Float64Array(jobs);
  let lines = [];
  for (let i = 0; i < records; i++) {
    const job = i % jobs;
    const turn = Math.floor(i / jobs);
    const intended = round(turn === 0 ? job * 4 : free[job] + 500);
    const sent = round(intended + random());
    let at = sent + 50 + 1950 * random() ** 3;
    const chunks = [];
    const tokens = [];
    for (let c = 0; c < CHUNKS; c++) {
      chunks.push(round(at));
      at += 15 + 10 * random();
      tokens.push(shape === "spread" && c > 0 ? 1 + Math.floor(random() * 4) : 1);
    }
    const end = round(chunks[CHUNKS - 1] + 0.5);
    free[job] = end;
    lines.push(
      JSON.stringify({
        request_id: `job-${job}/turn-${turn}`,
        job_id: `job-${job}`,
        turn,
        status: "ok",
        failure: null,
        intended_ms: intended,
        slot_ms: null,
        sent_ms: sent,
        connect_ms: 0,
        headers_ms: chunks[0],
        first_byte_ms: chunks[0],
        first_token_ms: chunks[0],
        first_output_ms: chunks[0],
        last_token_ms: chunks[CHUNKS - 1],
        end_ms: end,
        chunk_ms: chunks,
        chunk_tokens: shape === "plain" ? null : tokens,
        chunks: CHUNKS,
        prompt_tokens: 1000 + turn * 800,
        output_tokens: tokens.reduce((sum, n) => sum + n, 0),
        cached_tokens: turn * 800,
        reasoning_tokens: 0,
        prompt_tokens_source: "server",
        output_tokens_source: "server",
        planned_prompt_tokens: 1000 + turn * 800,
        planned_output_tokens: CHUNKS,
        finish_reason: "length",
        tool_calls: null,
        engine: null,
        attempts: 1,
        after: turn === 0 ? [] : [`job-${job}/turn-${turn - 1}`],
        think_ms: turn === 0 ? 0 : 500,
        agent: null,
      }),
    );
    if (lines.length === 2000) {
      writeSync(file, `${lines.join("\n")}\n`);
      lines = [];
    }
  }
  if (lines.length > 0) writeSync(file, `${lines.join("\n")}\n`);
  closeSync(file);
  for (let job = 0; job < jobs; job += 1000) {
    const rows = [];
    for (let j = job; j < Math.min(jobs, job + 1000); j++)
      rows.push(
        `{"job_id":"job-${j}","turns":${Math.ceil((records - j) / jobs)},"budget_ms":60000,"start_ms":${j * 4}}\n`,
      );
    writeSync(jobFile, rows.join(""));
  }
  closeSync(jobFile);
  writeFileSync(
    join(folder, "manifest.json"),
    JSON.stringify({
      reprise_run: 1,
      id: "bench",
      started_at: "2026-01-01T00:00:00.000Z",
      t0_wall_ms: 0,
      command: "replay",
      host: { platform: "linux", node: process.version, cpus: 2, name: "bench" },
      target: { url: "http://x", model: "m", backend: "openai", simulated: false },
      plan: { pacing: "jobs", requests: records, jobs },
      end: { ended_ms: 1e9, interrupted: false, not_sent: 0, overdue: 0 },
    }),
  );
}
