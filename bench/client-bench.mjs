/**
 * The client against the C client on the same C server (`perf/` in the shared folder), sides in turn, medians. Prints the ratios of
 * PERFORMANCE's table. Nothing here fails a test: it is read by people.
 *   node bench/client-bench.mjs [--quick] [--perf DIR]
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle } from "./bundle.mjs";
import { median } from "./quantile.mjs";
import { compile, perf, startReferenceServer } from "./reference-server.mjs";

const quick = process.argv.includes("--quick");
if (!existsSync(join(perf, "server.c"))) {
  console.log(`skipped: ${perf}/server.c is not there (--perf DIR)`);
  process.exit(0);
}

const rounds = quick ? 3 : 5;
const [warm, dur] = quick ? [2.5, 2] : [3, 4];
const work = mkdtempSync(join(tmpdir(), "reprise-bench-"));
const runChild = (command, args) =>
  new Promise((done, fail) => {
    let out = "";
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
    child.stdout.on("data", (text) => (out += text));
    child.on("exit", (code) =>
      code === 0 ? done(JSON.parse(out)) : fail(new Error(`${command} ended with ${code}`)),
    );
  });

let server = null;
try {
  const cclient = compile("cclient", work);
  const load = join(work, "load.mjs");
  await bundle(load, "bench/client-load.ts");
  const { port, child } = await startReferenceServer(work);
  server = child;

  const c = ([conns, n, pace, batch], lag) =>
    runChild(cclient, [conns, n, pace, batch, 0, warm, dur, lag ? 1 : 0, port].map(String));
  const ours = ([conns, n, pace, batch], lag, flags = []) =>
    runChild(
      process.execPath,
      ["--expose-gc", ...flags, load, conns, n, pace, batch, warm, dur, port, lag ? "lag" : "plain"].map(
        String,
      ),
    );

  /** Runs both sides in turn and gives the medians of what `read` takes from each. */
  const waits = [];
  const compare = async (title, shape, lag, read, goal, flags = []) => {
    const own = [];
    const reference = [];
    for (let i = 0; i < rounds; i++) {
      const result = await c(shape, lag);
      waits.push(result.wait);
      reference.push(read(result, "c"));
      own.push(read(await ours(shape, lag, flags), "node"));
    }
    const [a, b] = [median(own), median(reference)];
    const digits = a < 1 ? 3 : a < 100 ? 2 : 0;
    console.log(
      `${title.padEnd(52)} ours ${a.toFixed(digits).padStart(8)}  C ${b.toFixed(digits).padStart(8)}  ratio ${(a / b).toFixed(2).padStart(6)}  ${goal}`,
    );
  };

  console.log(`medians of ${rounds}, ${dur} s each after ${warm} s; node ${process.version}`);
  await compare(
    "CPU µs/event, 250 streams of 20 ms/token",
    [250, 100, 20000, 1],
    false,
    (r) => r.us_per_ev,
    "goal ≤ 2 × C",
  );
  await compare(
    "CPU µs/event, 500 streams of 20 ms/token",
    [500, 100, 20000, 1],
    false,
    (r) => r.us_per_ev,
    "",
  );
  await compare(
    "bulk µs/event, JSON each event, 64 events a write",
    [8, 2000, 0, 64],
    false,
    (r) => r.us_per_ev,
    "aiohttp peer: 6.4, goal ≤ 2.1",
  );
  await compare("timestamp lag p50 µs, 500 streams", [500, 100, 20000, 1], true, (r) => r.lag.p50, "");
  await compare(
    "timestamp lag p99 µs, 500 streams",
    [500, 100, 20000, 1],
    true,
    (r) => r.lag.p99,
    "goal < 500",
  );
  await compare(
    "timestamp lag p99 µs, 1000 streams",
    [1000, 100, 20000, 1],
    true,
    (r) => r.lag.p99,
    "goal < 5000",
  );
  await compare(
    "CPU µs/request, one token each, 8 connections",
    [8, 1, 0, 1],
    false,
    (r, side) => (side === "c" ? r.us_per_ev : r.us_per_request),
    "aiohttp peer: 444, goal ≤ 67",
  );
  await compare(
    "KB a stream (resident; with the young generation)",
    [1000, 200, 20000, 1],
    false,
    (r) => r.kb_per_stream,
    "goal ≤ 20",
  );
  const wait = median(waits) * 100;
  console.log(
    `the C client waited ${wait.toFixed(1)} % of the time for a core${wait > 0.5 ? ": the lag figures say little" : ""}`,
  );
} finally {
  server?.kill();
  rmSync(work, { recursive: true, force: true });
}
