// Runs every bench/*-bench.mjs, shows what they print, and ends on one table: the goals against what was measured.
//   npm run bench -- [--quick] [--only client,replay] [--perf DIR]
// A figure that a bench did not give (its server is not there, --only) stands as "not measured". Nothing here is a test: on a
// machine that others use, times say how busy it was; ratios within one run say more.
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { flag } from "../bench/flag.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const quick = process.argv.includes("--quick");
const only = flag("--only")?.split(",") ?? null;
const perf = flag("--perf") === null ? [] : ["--perf", flag("--perf")];

/** What a bench takes beside its defaults. The quick sizes keep everything within a few minutes. */
const WORDS = {
  client: [...(quick ? ["--quick"] : []), ...perf],
  replay: [...(quick ? ["--quick"] : []), ...perf],
  dispatch: quick ? ["--only", "rate,prompts", "--seconds", "3", "--rounds", "1"] : [],
  report: quick ? ["--records", "20000"] : [],
  trace: quick ? ["--rows", "100000"] : [],
};

const number = "([0-9.]+)";
/** What is promised, where it is printed, and when it is kept. The first group of the pattern is the figure. */
const GOALS = [
  goal("CPU/event, 250 paced streams, ÷ C", "client", `250 streams of 20.*ratio +${number}`, 2),
  goal("bulk, JSON each event, µs/event", "client", `bulk µs/event.*ours +${number}`, 2.1),
  goal("timestamp error p99 at 500 streams, µs", "client", `lag p99 µs, 500 streams.*ours +${number}`, 500),
  goal(
    "timestamp error p99 at 1000 streams, µs",
    "client",
    `lag p99 µs, 1000 streams.*ours +${number}`,
    5000,
  ),
  goal("CPU/request, µs (0.15 × aiohttp peer)", "client", `CPU µs/request.*ours +${number}`, 67),
  goal("KB an open stream", "client", `KB a stream.*ours +${number}`, 20),
  goal(
    "dispatcher alone, 2,000 req/s: lateness p99, ms",
    "dispatch",
    `^ +[0-9]+ requests .*p99 ${number} ms  max`,
    1,
  ),
  goal(
    "replay, 1,000 req/s + 25k ev/s: own lateness p99, ms",
    "replay",
    `1,000 req/s.*own p99 ${number} ms`,
    1,
  ),
  goal(
    "replay, 2,000 req/s + 32k ev/s: own lateness p99, ms",
    "replay",
    `2,000 req/s.*own p99 ${number} ms`,
    1,
  ),
  goal("… sends before their time", "replay", `2,000 req/s.*early ${number}`, 0),
  goal(
    "128 KB prompts: own lateness p99 ÷ that of small ones",
    "replay",
    `128 KB prompts.*ratio ${number}`,
    1.5,
  ),
  goal(
    "lanes: 2 ÷ 1 in bulk (needs two free cores and one for the server)",
    "replay",
    `2 lanes.*ratio ${number}`,
    1.7,
    "least",
  ),
  ...["lengths", "blocks", "text"].map((shape) =>
    goal(
      `1,000,000 rows of ${shape} read and planned ÷ JSON.parse`,
      "trace",
      `^${shape}.*planned .*ratio ${number}`,
      1.5,
    ),
  ),
  goal("… peak memory of those of blocks, MB", "trace", `^blocks.*planned .*peak ${number} MB`, 600),
  goal("report: CPU ÷ bare JSON.parse of the log", "report", `\\(${number} × bare\\)`, null),
];

const printed = {};
for (const file of readdirSync(join(root, "bench"))
  .filter((name) => name.endsWith("-bench.mjs"))
  .sort()) {
  const name = file.slice(0, -"-bench.mjs".length);
  if (only !== null && !only.includes(name)) continue;
  process.stdout.write(`\n── ${name} ──\n`);
  printed[name] = await run(join(root, "bench", file), WORDS[name] ?? []);
}
process.stdout.write(`\n${table()}`);

function goal(what, bench, pattern, limit, sense = "most") {
  return { what, bench, pattern: new RegExp(pattern, "m"), limit, sense };
}

/** Shows the output as it comes, and returns it. */
function run(file, words) {
  return new Promise((done) => {
    let text = "";
    const child = spawn(process.execPath, [file, ...words], { stdio: ["ignore", "pipe", "inherit"] });
    child.stdout.setEncoding("utf8").on("data", (part) => {
      text += part;
      process.stdout.write(part);
    });
    child.on("exit", (code) => {
      if (code !== 0) process.stdout.write(`(ended with code ${code})\n`);
      done(text);
    });
  });
}

function table() {
  const rows = GOALS.map(({ what, bench, pattern, limit, sense }) => {
    const match = pattern.exec(printed[bench] ?? "");
    const measured = match === null ? null : Number(match[1]);
    const kept =
      measured === null || limit === null
        ? ""
        : (sense === "most" ? measured <= limit : measured >= limit)
          ? "yes"
          : "no";
    const bound = limit === null ? "-" : `${sense === "most" ? "≤" : "≥"} ${limit}`;
    return [what, bound, measured === null ? "not measured" : String(measured), kept];
  });
  const all = [["what", "goal", "measured", "kept"], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => row[column].length)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join("  ")
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join("");
}
