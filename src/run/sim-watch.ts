/**
 * Samples the engine in this process, on its own clock. Nothing is sampled while the engine has nothing to do: on virtual time a
 * timer that never ends would keep a run alive that hangs, and an hour between two jobs costs no rows.
 */
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import type { Ms } from "../core/units.ts";
import type { SimEngine } from "../sim/index.ts";
import type { EngineReading } from "../server/engine-metrics.ts";
import { EngineTally } from "../server/engine-tally.ts";
import { appendEngineRows, ENGINE_FILE } from "../server/run-scraper.ts";
import type { EngineRow } from "../server/scrape.ts";
import type { EngineWatch, WatchedRun } from "./engine-watch.ts";

/** Samples in a run whose length is known, within these bounds of the time between two. */
const SAMPLES = 500;
const SHORTEST_MS = 50;
const LONGEST_MS = 10_000;
const USUAL_MS = 500;
/** Rows kept back on virtual time, where they come by the thousand a second. */
const ROWS_AT_ONCE = 256;

export function createSimWatch(engine: SimEngine, clock: Clock, virtual: boolean): EngineWatch {
  const tally = new EngineTally();
  let run: (WatchedRun & { readonly every: Ms }) | null = null;
  let rows: EngineRow[] = [];
  /** Number of the last tick, counted from t0. */
  let tick = 0;
  let ticking = false;

  const flush = (): void => {
    if (run === null || rows.length === 0) return;
    appendEngineRows(join(run.folder, ENGINE_FILE), rows);
    rows = [];
  };
  const sample = (weight: number): EngineReading => {
    const ms = clock.now() - (run as WatchedRun).t0;
    const reading = readSim(engine);
    rows.push({ ms, ...tally.add(ms, reading, weight) });
    if (!virtual || rows.length >= ROWS_AT_ONCE) flush();
    return reading;
  };
  /** The next tick on the grid, and the idle ones that were left out before it. */
  const schedule = (): void => {
    if (run === null || ticking) return;
    const { t0, every } = run;
    const next = Math.max(tick + 1, Math.floor((clock.now() - t0) / every) + 1);
    if (next > tick + 1) tally.gauges(IDLE, next - tick - 1);
    ticking = true;
    clock.at(t0 + next * every, () => {
      ticking = false;
      if (run === null) return;
      tick = next;
      const { running, waiting } = sample(1);
      if (running !== 0 || waiting !== 0) schedule();
    });
  };
  return {
    open: () => Promise.resolve(null),
    start: (started) => {
      const { span_ms } = started;
      const every =
        span_ms === null || span_ms <= 0
          ? USUAL_MS
          : Math.min(LONGEST_MS, Math.max(SHORTEST_MS, span_ms / SAMPLES));
      run = { ...started, every };
      sample(0);
      engine.onSubmit = schedule;
      if (engine.stats().running + engine.stats().waiting > 0) schedule();
    },
    finish: () => {
      if (run === null) return Promise.resolve(null);
      engine.onSubmit = null;
      const missed = ticking ? 0 : Math.floor((clock.now() - run.t0) / run.every) - tick;
      if (missed > 0) tally.gauges(IDLE, missed);
      sample(0);
      flush();
      run = null;
      return Promise.resolve({ ...tally.summary("sim") });
    },
  };
}

/** The engine's counters under the names that servers' metrics have here. */
export function readSim(engine: SimEngine): EngineReading {
  const { running, waiting, kv_usage, preemptions, cache } = engine.stats();
  const { queue, prefill, decode } = engine.counters;
  return {
    running,
    waiting,
    kv_usage,
    preemptions,
    cache_queries: cache.queries,
    cache_hits: cache.hits,
    hit_rate: null,
    queue: { seconds: queue.sum, count: queue.count },
    prefill: { seconds: prefill.sum, count: prefill.count },
    decode: { seconds: decode.sum, count: decode.count },
  };
}

/** Idle: nothing runs, so no blocks are held. */
const IDLE: EngineReading = {
  running: 0,
  waiting: 0,
  kv_usage: 0,
  preemptions: null,
  cache_queries: null,
  cache_hits: null,
  hit_rate: null,
  queue: null,
  prefill: null,
  decode: null,
};
