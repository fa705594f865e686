/**
 * How the process itself fared: event-loop stalls, CPU, loop utilisation. A load generator that stalls stamps late and
 * sends late; the run's validity verdict is made from these.
 */
import { PerformanceObserver } from "node:perf_hooks";
import { threadCpu } from "./thread-cpu.ts";
import type { Ms } from "./units.ts";

export interface LoopHealth {
  readonly loop_stall_p99_ms: Ms | null;
  readonly loop_stall_max_ms: Ms | null;
  /** Longest stall during which `openStreams()` was above 0. */
  readonly loop_stall_streaming_max_ms: Ms | null;
  /** CPU time of the process (on a worker thread: of the thread) ÷ wall time; 1 = one core. */
  readonly cpu_share: number | null;
  /** Share of time the event loop was busy, 0–1 (Node's `eventLoopUtilization`). */
  readonly loop_utilisation: number | null;
  /** Share of time in which this thread was ready to run and others had the core: what the machine took, not we. */
  readonly core_wait_share: number | null;
  /** Longest pause of the garbage collector. */
  readonly gc_max_ms: Ms | null;
}

export interface LoopMonitor {
  /** Health so far; the monitor goes on. */
  read(): LoopHealth;
  /** Ends the sampling and tells the health of the whole time. */
  stop(): LoopHealth;
}

/** One sample every so often: a stall shorter than this is not seen, and does not matter at ms precision. */
const PERIOD_MS = 10;
/** Histogram of stalls: 1 ms buckets up to 10 s. */
const BUCKETS = 10_000;

/** Starts sampling. `openStreams` tells how many responses are being read; `worker`: CPU is counted of this thread alone. */
export function startLoopMonitor(openStreams: () => number, worker = false): LoopMonitor {
  const started = performance.now();
  const cpuStart = process.cpuUsage();
  const threadStart = threadCpu();
  const utilisationStart = performance.eventLoopUtilization();
  const histogram = new Uint32Array(BUCKETS + 1);
  let samples = 0;
  let max = 0;
  let streamingMax = 0;
  let last = started;
  let wasStreaming = false;
  const timer = setInterval(() => {
    const now = performance.now();
    const stall = Math.max(0, now - last - PERIOD_MS);
    const streaming = openStreams() > 0;
    samples++;
    const bucket = Math.min(BUCKETS, Math.round(stall));
    histogram[bucket] = (histogram[bucket] as number) + 1;
    if (stall > max) max = stall;
    // Streams open at either end of the gap were not read during it.
    if ((streaming || wasStreaming) && stall > streamingMax) streamingMax = stall;
    last = now;
    wasStreaming = streaming;
  }, PERIOD_MS);
  timer.unref();
  let gcMax = 0;
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) gcMax = Math.max(gcMax, duration);
  });
  observer.observe({ entryTypes: ["gc"] });

  const read = (): LoopHealth => {
    const wall = performance.now() - started;
    const cpu = process.cpuUsage(cpuStart);
    const thread = threadStart === null ? null : threadCpu();
    const threadUsed = thread === null ? null : thread.used_ms - (threadStart?.used_ms ?? 0);
    const used = worker ? threadUsed : (cpu.user + cpu.system) / 1000;
    return {
      // The buckets round: never more than the longest.
      loop_stall_p99_ms: samples === 0 ? null : Math.min(max, quantileOf(histogram, samples, 0.99)),
      loop_stall_max_ms: samples === 0 ? null : max,
      loop_stall_streaming_max_ms: samples === 0 ? null : streamingMax,
      cpu_share: wall <= 0 || used === null ? null : used / wall,
      loop_utilisation: performance.eventLoopUtilization(utilisationStart).utilization,
      core_wait_share:
        wall <= 0 || thread === null ? null : (thread.waited_ms - (threadStart?.waited_ms ?? 0)) / wall,
      gc_max_ms: gcMax,
    };
  };
  return {
    read,
    stop() {
      clearInterval(timer);
      observer.disconnect();
      return read();
    },
  };
}

function quantileOf(histogram: Uint32Array, samples: number, share: number): Ms {
  let seen = 0;
  for (let bucket = 0; bucket < histogram.length; bucket++) {
    seen += histogram[bucket] as number;
    if (seen >= share * samples) return bucket;
  }
  return BUCKETS;
}
