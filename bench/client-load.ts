/**
 * Load side of client-bench.mjs: `conns n pace_us batch warm_s dur_s port lag|plain [group]`. Each of `conns` streams asks for `n`
 * tokens, again and again, through the real client; prints one JSON line about the measured time after the warm-up.
 */
import { RealClock } from "../src/core/real-clock.ts";
import { createHttpClient } from "../src/client/http-client.ts";
import type { Protocol } from "../src/client/protocol.ts";
import { openai } from "../src/client/protocols/openai.ts";

const [conns, n, pace, batch, warmS, durS, port] = process.argv.slice(2, 9).map(Number) as [
  number,
  number,
  number,
  number,
  number,
  number,
  number,
];
const lagMode = process.argv[9] === "lag";
const group = process.argv[10] ?? "0";

let sentAt = 0;
/** Keeps the server's own send instant (CLOCK_MONOTONIC ns) beside the reading of the event. */
const stamped: Protocol = {
  ...openai,
  reader: () => {
    const reader = openai.reader();
    return {
      event: (name, data) => {
        if (data.endsWith('"}')) sentAt = Number(data.slice(-18, -2));
        return reader.event(name, data);
      },
      body: (text) => reader.body(text),
    };
  },
};

const clock = new RealClock();
const client = createHttpClient({
  protocol: lagMode ? stamped : openai,
  baseUrl: `http://127.0.0.1:${port}`,
  clock,
});
const prepared = client.prepare({
  request_id: "b",
  model: "mock-model",
  prompt: { kind: "text", text: "Hello world" },
  max_tokens: 100,
  force_length: false,
  temperature: null,
  stream: true,
  params: null,
  keep_text: false,
  keep_chunks: true,
  headers: { "x-n": String(n), "x-pace-us": String(pace), "x-batch": String(batch), "x-group": group },
});

let events = 0;
let requests = 0;
let failed = 0;
let measuring = false;
const MAX_LAG_US = 300_000;
const lags = new Uint32Array(MAX_LAG_US + 1);
let offsetMs = monotonicOffset();

/** CLOCK_MONOTONIC − performance.now(), ms: the smallest of many pairs, since a pause between the two reads only adds. */
function monotonicOffset(): number {
  let best = Infinity;
  for (let i = 0; i < 2000; i++) {
    const before = performance.now();
    const mono = Number(process.hrtime.bigint()) / 1e6;
    const after = performance.now();
    if (after - before < best) {
      best = after - before;
      offsetMs = mono - (before + after) / 2;
    }
  }
  return offsetMs;
}

const listener = {
  onChunk(at: number): void {
    events++;
    if (!lagMode || !measuring) return;
    const us = Math.round((at + offsetMs) * 1000 - sentAt / 1000);
    lags[us < 0 ? 0 : us > MAX_LAG_US ? MAX_LAG_US : us]!++;
  },
};

function loop(): void {
  client.send(
    prepared,
    (seen) => {
      requests++;
      if (seen.failure !== null) {
        failed++;
        if (failed < 4) process.stderr.write(`${JSON.stringify(seen.failure)}\n`);
      }
      loop();
    },
    listener,
  );
}

function quantile(q: number): number {
  let total = 0;
  for (const count of lags) total += count;
  let seen = 0;
  for (let us = 0; us <= MAX_LAG_US; us++) {
    seen += lags[us] as number;
    if (seen > q * total) return us;
  }
  return 0;
}

globalThis.gc?.();
const before = process.memoryUsage();
const ramp = pace === 0 ? 0 : Math.min((n * pace) / 1e6, warmS * 0.9);
for (let i = 0; i < conns; i++) {
  const at = clock.now() + (ramp * 1000 * i) / conns;
  clock.at(at, loop);
}
const started = clock.now();
clock.at(started + warmS * 1000, () => {
  globalThis.gc?.();
  const after = process.memoryUsage();
  events = 0;
  requests = 0;
  measuring = true;
  const cpu = process.cpuUsage();
  const from = clock.now();
  clock.at(from + durS * 1000, () => {
    const { user, system } = process.cpuUsage(cpu);
    const wall = clock.now() - from;
    const us = user + system;
    process.stdout.write(
      `${JSON.stringify({
        events,
        requests,
        failed,
        ev_s: Math.round((events / wall) * 1000),
        util: us / 1000 / wall,
        us_per_ev: us / events,
        us_per_request: us / requests,
        kb_per_stream: (after.rss - before.rss) / 1024 / conns,
        live_kb_per_stream:
          (after.heapUsed + after.external - before.heapUsed - before.external) / 1024 / conns,
        lag: lagMode ? { p50: quantile(0.5), p99: quantile(0.99) } : null,
      })}\n`,
    );
    process.exit(0);
  });
});
