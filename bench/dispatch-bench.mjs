/**
 * Lateness of the dispatcher alone: real clock, a client that answers by timer and costs nothing else. Prints, for each
 * load, lateness (sent − max(intended, slot)) p50/p99/max, the last tenth's p99 beside the first's, and CPU per request.
 * On a shared machine read the best of the rounds: what others steal shows as our lateness.
 *
 *   node bench/dispatch-bench.mjs [--only rate,jobs,prompts,burst,million] [--seconds 8] [--rounds 3]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundle } from "./bundle.mjs";
import { flag } from "./flag.mjs";

const only = flag("--only")?.split(",") ?? ["rate", "jobs", "prompts", "burst", "million"];
const seconds = Number(flag("--seconds") ?? 8);
const rounds = Number(flag("--rounds") ?? 3);

const {
  describeSamples,
  dispatch,
  emptyObservation,
  load,
  newRequest,
  planLoad,
  planTrace,
  RealClock,
  resolveJobs,
} = await sources();

const LOADS = {
  rate: () => ({
    title: `2,000 req/s for ${seconds} s, 200 ms each, 4 KB bodies`,
    plan: timed(2000 * seconds, 2000),
    service: 200,
    bytes: 4096,
  }),
  jobs: () => ({
    title: "10,000 jobs at once, 3 turns each, 4 s think, 1 s service (2,000 req/s), 4 KB bodies",
    plan: jobsPlan(10_000, 3),
    service: 1000,
    bytes: 4096,
  }),
  prompts: () => ({
    title: `200 req/s for ${seconds} s, 128 KB bodies`,
    plan: timed(200 * seconds, 200),
    service: 200,
    bytes: 128 * 1024,
  }),
  burst: () => ({
    title: "10,000 requests at one instant",
    plan: timed(10_000, Infinity),
    service: 500,
    bytes: 1024,
  }),
  million: () => ({
    title: "1,000,000 requests, 20,000/s, no bodies (memory)",
    plan: timed(1_000_000, 20_000),
    service: 50,
    bytes: 0,
    rounds: 1,
  }),
};

for (const name of only) {
  const spec = LOADS[name]();
  process.stdout.write(`${name}: ${spec.title}\n`);
  for (let round = 0; round < (spec.rounds ?? rounds); round++) {
    if (name === "rate") reportBare(await measureBare(spec.plan));
    report(await measure(spec));
  }
}

function timed(n, rate) {
  return planLoad(load(n), { rate, burstiness: rate === Infinity ? 1 : Infinity });
}

function jobsPlan(jobs, turns) {
  const prompt = { kind: "text", text: "" };
  const requests = [];
  for (let j = 0; j < jobs; j++) {
    for (let t = 0; t < turns; t++) {
      // Starts spread over the 5 s that a turn takes, so that the rate is even.
      const arrival_ms = (j / jobs) * 5000;
      requests.push(
        newRequest({
          request_id: `j${j}t${t}`,
          job_id: `j${j}`,
          turn: t,
          arrival_ms,
          think_ms: 4000,
          prompt,
        }),
      );
    }
  }
  return planTrace(resolveJobs(requests), { pacing: "jobs", optimal: false });
}

/** The same instants on the bare clock, nothing sent: what this machine allows at this moment. */
function measureBare(plan) {
  const clock = new RealClock();
  const start = clock.now() + 50;
  const late = [];
  return new Promise((resolve) => {
    for (const { release } of plan.requests) {
      const due = start + release.offset_ms;
      clock.at(due, () => {
        late.push(clock.now() - due);
        if (late.length === plan.requests.length) resolve(describeSamples(late, [50, 99]));
      });
    }
  });
}

function reportBare(lateness) {
  const ms = (value) => `${value.toFixed(3)} ms`;
  process.stdout.write(
    `  (bare clock      lateness p50 ${ms(lateness.p50)}  p99 ${ms(lateness.p99)}  max ${ms(lateness.max)})\n`,
  );
}

async function measure({ plan, service, bytes }) {
  const clock = new RealClock();
  const text = "token ".repeat(Math.ceil(bytes / 6)).slice(0, bytes);
  const late = new Float64Array(plan.requests.length);
  const intended = new Float64Array(plan.requests.length);
  let n = 0;
  let rss = 0;
  let lastSent = 0;
  let cpu = process.cpuUsage();
  const run = dispatch(plan, {
    clock,
    client: nullClient(clock, service),
    history: "recorded",
    keep: { keepChunks: false, keepText: false },
    prepare: (planned) => ({
      request_id: planned.request_id,
      body_bytes: bytes,
      body: bytes === 0 ? null : Buffer.from(JSON.stringify({ id: planned.request_id, prompt: text })),
    }),
    onStart: () => {
      cpu = process.cpuUsage();
    },
    onRecord: (record) => {
      intended[n] = record.intended_ms;
      late[n++] = record.sent_ms - Math.max(record.intended_ms, record.slot_ms ?? -Infinity);
      lastSent = Math.max(lastSent, record.sent_ms);
      if (n % 10_000 === 0) rss = Math.max(rss, process.memoryUsage().rss);
    },
  });
  await run.done;
  const used = process.cpuUsage(cpu);
  const tenth = Math.max(1, Math.floor(n / 10));
  const p99 = (values) => describeSamples(values, [99]).p99;
  return {
    n,
    early: late.filter((value) => value < 0).length,
    lateness: describeSamples(late, [50, 99]),
    first: p99(late.subarray(0, tenth)),
    last: p99(late.subarray(n - tenth)),
    lastSent,
    cpu_us: (used.user + used.system) / n,
    rss_mb: Math.max(rss, process.memoryUsage().rss) / 1024 / 1024,
  };
}

/** Timers of the same clock end the requests; what a client would observe is empty. */
function nullClient(clock, service) {
  return {
    name: "null",
    prepare: (request) => ({ request_id: request.request_id, body_bytes: 0 }),
    send(_prepared, done) {
      const sent_ms = clock.now();
      const timer = clock.at(sent_ms + service, () =>
        done({ ...emptyObservation(sent_ms), end_ms: clock.now(), finish_reason: "stop", http_status: 200 }),
      );
      return { cancel: () => clock.cancel(timer) };
    },
    async close() {},
  };
}

function report({ n, early, lateness, first, last, lastSent, cpu_us, rss_mb }) {
  const ms = (value) => `${value.toFixed(3)} ms`;
  process.stdout.write(
    `  ${n} requests  lateness p50 ${ms(lateness.p50)}  p99 ${ms(lateness.p99)}  max ${ms(lateness.max)}` +
      `  first/last tenth p99 ${ms(first)} / ${ms(last)}  early ${early}  last sent ${ms(lastSent)}` +
      `  cpu ${cpu_us.toFixed(1)} us/request  rss ${rss_mb.toFixed(0)} MB\n`,
  );
}

async function sources() {
  const folder = mkdtempSync(join(tmpdir(), "reprise-dispatch-bench-"));
  const outfile = join(folder, "dispatch.mjs");
  try {
    await bundle(
      outfile,
      "src/core/quantile.ts",
      "src/core/real-clock.ts",
      "src/dispatch/dispatch.ts",
      "src/plan/plan-load.ts",
      "src/plan/plan-trace.ts",
      "src/record/observation.ts",
      "src/trace/jobs.ts",
      "src/trace/new-request.ts",
      "test/support/load-requests.ts",
    );
    return await import(pathToFileURL(outfile).href);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
