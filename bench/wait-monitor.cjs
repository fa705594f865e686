/**
 * Preloaded into a run by replay-bench.mjs: every 2 ms, how long the main thread has been on a core and how long it has waited
 * for one (/proc/thread-self/schedstat). What others take from us can then be told from what we do to ourselves.
 */
const { openSync, readSync, writeFileSync } = require("node:fs");
const { PerformanceObserver } = require("node:perf_hooks");

const file = openSync("/proc/thread-self/schedstat", "r");
const buffer = Buffer.alloc(64);
const at = [];
const waited = [];
const collections = [];
setInterval(() => {
  const [, wait] = buffer.toString("latin1", 0, readSync(file, buffer, 0, 64, 0)).split(" ");
  at.push(performance.timeOrigin + performance.now());
  waited.push(Number(wait) / 1e6);
}, 2).unref();
new PerformanceObserver((list) => {
  for (const { startTime, duration } of list.getEntries())
    collections.push([performance.timeOrigin + startTime, duration]);
}).observe({ entryTypes: ["gc"] });
process.on("exit", () => {
  const cpu = process.cpuUsage();
  writeFileSync(
    process.env.WAIT_MONITOR_OUT,
    JSON.stringify({
      at,
      waited,
      collections,
      cpu_ms: (cpu.user + cpu.system) / 1000,
      peak_mb: process.resourceUsage().maxRSS / 1024,
    }),
  );
});
