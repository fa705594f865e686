/**
 * `reprise replay` as a whole (trace, prompts, client, records, log, progress) against the C server of `perf/`. For each load, of
 * the rounds the one with the least stolen time: lateness of the sends, and "own": lateness less the time that the sending thread
 * waited for a core meanwhile. Nothing here fails a test: it is read by people.
 *   node bench/replay-bench.mjs [--quick] [--perf DIR] [--only rate,dense,prompts,lanes]
 */
import { spawn } from "node:child_process";
import { createWriteStream, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./bundle.mjs";
import { flag } from "./flag.mjs";
import { median, quantile } from "./quantile.mjs";
import { perf, startReferenceServer } from "./reference-server.mjs";

const cli = join(root, "dist/cli.js");
const quick = process.argv.includes("--quick");
const only = flag("--only")?.split(",") ?? ["rate", "dense", "prompts", "lanes"];
if (!existsSync(join(perf, "server.c")) || !existsSync(cli)) {
  console.log(`skipped: ${existsSync(cli) ? `${perf}/server.c` : "dist/cli.js"} is not there`);
  process.exit(0);
}
const rounds = quick ? 2 : 5;
const seconds = quick ? 3 : 8;
const work = mkdtempSync(join(tmpdir(), "reprise-replay-bench-"));
const ms = (value) => `${value.toFixed(value < 1 ? 3 : 1)} ms`;

let server = null;
let runs = 0;
try {
  const { port, child } = await startReferenceServer(work);
  server = child;
  const base = [
    "--base-url",
    `http://127.0.0.1:${port}`,
    "--model",
    "m",
    "--backend",
    "openai",
    "--json",
    "-q",
  ];
  const loads = {
    rate: () =>
      punctuality("1,000 req/s, 500 streams of 20 ms/token (25k events/s)", 1000, 25, 32, [
        ...base,
        "--pacing",
        "recorded",
      ]),
    dense: () =>
      punctuality("2,000 req/s, 640 streams of 20 ms/token (32k events/s)", 2000, 16, 32, [
        ...base,
        "--pacing",
        "recorded",
      ]),
    prompts: () => longPrompts([...base, "--pacing", "recorded"]),
    lanes: () => lanes(base),
  };
  console.log(`best of ${rounds} rounds of ${seconds} s; node ${process.version}`);
  for (const name of only) await loads[name]();
} finally {
  server?.kill();
  rmSync(work, { recursive: true, force: true });
}

/** Prints the round in which others took the least. */
async function punctuality(title, rate, tokens, promptBytes, words) {
  const trace = await writeTrace(rate * seconds, rate, promptBytes);
  let best = null;
  for (let round = 0; round < rounds; round++) {
    const run = await replay([trace, ...words, "--header", `x-n=${tokens}`, "x-pace-us=20000"]);
    if (best === null || run.stolen < best.stolen) best = run;
  }
  console.log(
    `${title}: lateness p50 ${ms(best.p50)}  p99 ${ms(best.p99)}  max ${ms(best.max)}  own p99 ${ms(best.own.p99)}  max ${ms(best.own.max)}` +
      `  first/last tenth own p99 ${ms(best.first)} / ${ms(best.last)}  early ${best.early}  longest collection ${ms(best.gc)}` +
      `  CPU ${best.cpu_us.toFixed(0)} µs/request  stolen ${(100 * best.stolen).toFixed(1)} %`,
  );
  return best;
}

async function longPrompts(words) {
  const rate = 200;
  const own = { small: [], large: [] };
  const traces = {
    small: await writeTrace(rate * seconds, rate, 1000),
    large: await writeTrace(rate * seconds, rate, 128 * 1024),
  };
  for (let round = 0; round < rounds; round++)
    for (const name of ["small", "large"])
      own[name].push(
        (await replay([traces[name], ...words, "--header", "x-n=10", "x-pace-us=20000"])).own.p99,
      );
  const [small, large] = [median(own.small), median(own.large)];
  console.log(
    `128 KB prompts at 200 req/s: own lateness p99 ${ms(large)}, of 1 KB prompts ${ms(small)}, ratio ${(large / Math.max(small, 0.05)).toFixed(2)}`,
  );
}

/** Everything at once, as fast as the server gives it: requests a second with one lane and with two. */
async function lanes(words) {
  const count = quick ? 1500 : 4000;
  const trace = await writeTrace(count, Infinity, 32);
  const rates = { 1: [], 2: [] };
  for (let round = 0; round < rounds; round++)
    for (const n of [1, 2]) {
      const shape = "--header x-n=200 x-pace-us=0 x-batch=64 --pacing recorded --max-concurrency 32";
      const run = await replay([trace, ...words, ...shape.split(" "), "--lanes", String(n)]);
      rates[n].push((count * 1000) / run.ended);
    }
  const [one, two] = [median(rates[1]), median(rates[2])];
  console.log(
    `bulk, 200 tokens each, 32 at a time: 1 lane ${one.toFixed(0)} req/s, 2 lanes ${two.toFixed(0)} req/s, ratio ${(two / one).toFixed(2)} (the server wants a core too)`,
  );
}

async function replay(words) {
  const out = join(work, `run${runs}`);
  const monitor = join(work, `monitor${runs++}.json`);
  await new Promise((done, fail) => {
    const child = spawn(
      process.execPath,
      ["-r", join(root, "bench/wait-monitor.cjs"), cli, "replay", ...words, "--out", out],
      { stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, WAIT_MONITOR_OUT: monitor } },
    );
    child.on("exit", (code) => (code === 0 ? done() : fail(new Error(`replay ended with ${code}`))));
  });
  const manifest = JSON.parse(readFileSync(join(out, "manifest.json"), "utf8"));
  const watched = JSON.parse(readFileSync(monitor, "utf8"));
  const records = readFileSync(join(out, "records.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))
    .sort((a, b) => a.intended_ms - b.intended_ms);
  rmSync(out, { recursive: true });
  rmSync(monitor);
  const sends = records.map(({ sent_ms, connect_ms, intended_ms, slot_ms }) => {
    const due = Math.max(intended_ms, slot_ms ?? 0);
    const late = sent_ms - connect_ms - due;
    return { late, own: Math.max(0, late - waitedBetween(watched, manifest.t0_wall_ms + due, late)) };
  });
  const late = sends.map((send) => send.late);
  const own = sends.map((send) => send.own);
  const tenth = Math.max(1, Math.floor(own.length / 10));
  return {
    p50: quantile(late, 0.5),
    p99: quantile(late, 0.99),
    max: quantile(late, 1),
    own: { p99: quantile(own, 0.99), max: quantile(own, 1) },
    first: quantile(own.slice(0, tenth), 0.99),
    last: quantile(own.slice(-tenth), 0.99),
    early: late.filter((value) => value < 0).length,
    gc: Math.max(0, ...watched.collections.map(([, duration]) => duration)),
    cpu_us: (watched.cpu_ms * 1000) / records.length,
    stolen: manifest.end.generator.core_wait_share ?? 0,
    ended: manifest.end.ended_ms,
  };
}

/** How long the main thread waited for a core from `from` until `late` after it, as far as readings around it tell. */
function waitedBetween({ at, waited }, from, late) {
  const after = (time) => {
    let low = 0;
    let high = at.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (at[middle] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return waited[after(from + late)] - waited[Math.max(0, after(from) - 1)];
}

async function writeTrace(count, rate, promptBytes) {
  const path = join(work, `trace-${count}-${rate}-${promptBytes}.jsonl`);
  const out = createWriteStream(path);
  const text = "tokens of a prompt ".repeat(Math.ceil(promptBytes / 19)).slice(0, promptBytes);
  for (let i = 0; i < count; i++) {
    const row = {
      request_id: `r${i}`,
      job_id: `j${i}`,
      turn: 0,
      arrival_ms: rate === Infinity ? 0 : (i * 1000) / rate,
      prompt: `${i} ${text}`,
      max_tokens: 16,
    };
    if (!out.write(`${JSON.stringify(row)}\n`)) await new Promise((done) => out.once("drain", done));
  }
  await new Promise((done) => out.end(done));
  return path;
}
