/**
 * `--probe-request-rate`: one-token requests beside the load, one after the other, each 1/rate after the last one's end. They
 * pass by the concurrency cap and are in no record: they tell how the load stalls requests that have nothing to do with it.
 */
import { type Clock, type Timer } from "../core/clock.ts";
import type { JsonObject } from "../core/json.ts";
import { percentile, sortSamples } from "../core/quantile.ts";
import type { Ms, PerSecond } from "../core/units.ts";
import type { SideRequests } from "./side-requests.ts";

/** A probe that is still out when the load is over is waited for so long. */
const GRACE_MS = 5000;

export interface ProbeLoad {
  /** No probe is sent after this; resolves when the last has ended, or is given up. */
  stop(): Promise<void>;
  /** Facts for the run's end, by the names of vLLM's result file; empty where none was answered. */
  facts(): JsonObject;
}

export function startProbes(side: SideRequests, clock: Clock, rate: PerSecond): ProbeLoad {
  const latencies: Ms[] = [];
  let failed = 0;
  let stopped = false;
  let timer: Timer | null = null;
  let idle: (() => void) | null = null;
  const done = new Promise<void>((resolve) => {
    idle = resolve;
  });
  const probe = (): void => {
    timer = null;
    const started = clock.now();
    void side.send({ kind: "text", text: "Hi" }, 1).then((seen) => {
      if (seen.failure === null) latencies.push(seen.end_ms - (seen.sent_ms ?? started) + seen.connect_ms);
      else failed++;
      if (stopped) idle?.();
      else timer = clock.at(clock.now() + 1000 / rate, probe);
    });
  };
  probe();
  return {
    stop() {
      stopped = true;
      if (timer !== null) {
        clock.cancel(timer);
        idle?.();
      }
      const limit = clock.at(clock.now() + GRACE_MS, () => idle?.());
      return done.finally(() => clock.cancel(limit));
    },
    facts() {
      if (latencies.length === 0) return {};
      const sorted = sortSamples(latencies);
      return {
        probe_completed: latencies.length,
        probe_failed: failed,
        probe_median_e2el_ms: percentile(sorted, 50),
        probe_p99_e2el_ms: percentile(sorted, 99),
        probe_max_e2el_ms: sorted.at(-1) ?? null,
      };
    },
  };
}
