/**
 * Samples a server's metrics while a run lasts: one row each time for `engine.jsonl`, and one summary of the whole
 * interval. A scrape that fails is a row that says so; it never stops a run.
 */
import { sleep, type Clock } from "../core/clock.ts";
import type { JsonObject } from "../core/json.ts";
import type { Ms } from "../core/units.ts";
import { readEngineMetrics, type EngineReading } from "./engine-metrics.ts";
import { EngineTally, type EngineSummary } from "./engine-tally.ts";
import { readDcgm, type GpuReading } from "./gpu-metrics.ts";
import type { HttpCall } from "./http-call.ts";
import { parsePrometheusText } from "./prometheus-text.ts";

export interface ScrapeOptions {
  /** Prometheus text of the engine; `null` = GPU figures only. */
  readonly metrics_url: string | null;
  readonly engine: string;
  /** A DCGM exporter's `/metrics`. */
  readonly dcgm_url?: string | null;
  /** GPU figures of this machine ({@link readNvidiaSmi}); asked once in vain, never again. */
  readonly gpus?: (() => Promise<readonly GpuReading[] | null>) | null;
  /** Time between samples. */
  readonly every_ms: Ms;
  /** The run's `t0` on the clock. */
  readonly t0: Ms;
  readonly clock: Clock;
  readonly call: HttpCall;
  /** Takes each row, to be appended to `engine.jsonl`. */
  readonly write: (row: EngineRow) => void;
}

/** One line of `engine.jsonl`. Means and rates are of the time since the row before. */
export type EngineRow = JsonObject & { readonly ms: Ms };

export class Scraper {
  readonly #options: ScrapeOptions;
  readonly #tally = new EngineTally();
  #gpusAbsent = false;
  #loop: Promise<void> | null = null;
  readonly #stop = new AbortController();

  constructor(options: ScrapeOptions) {
    this.#options = options;
  }

  /** The first reading is taken before this resolves, so that nothing of the run is missed. */
  async start(): Promise<void> {
    await this.sample(false);
    this.#loop = this.#run();
  }

  /** Takes the last reading and sums up; `null` if no reading ever succeeded. */
  async stop(): Promise<EngineSummary | null> {
    this.#stop.abort(new Error("stopped"));
    await this.#loop;
    await this.sample(false);
    return this.#tally.summary(this.#options.engine);
  }

  async #run(): Promise<void> {
    const { clock, every_ms: every } = this.#options;
    // Deadlines, not pauses: a slow scrape does not shift the ones after it.
    let due = clock.now() + every;
    while (!this.#stop.signal.aborted) {
      try {
        await sleep(clock, Math.max(0, due - clock.now()), this.#stop.signal);
      } catch {
        return;
      }
      await this.sample();
      due = Math.max(due + every, clock.now());
    }
  }

  /** One reading now. Before and after the run the server idles: such readings count for counters, not for gauges. */
  async sample(gauges = true): Promise<void> {
    const { clock, t0, write } = this.#options;
    const ms = clock.now() - t0;
    const [engine, gpus] = await Promise.all([this.#engine(), this.#gpus()]);
    let row: JsonObject = {};
    if (engine instanceof Error) {
      this.#tally.none(ms, true);
      row = { error: engine.message };
    } else if (engine === null) {
      this.#tally.none(ms, false);
    } else {
      row = this.#tally.add(ms, engine, gauges ? 1 : 0);
    }
    if (gauges) this.#tally.gpus(gpus ?? []);
    write({ ms, ...row, ...(gpus === null ? {} : { gpus: gpus.map((gpu) => ({ ...gpu })) }) });
  }

  async #engine(): Promise<EngineReading | Error | null> {
    const { call, metrics_url: url, engine } = this.#options;
    if (url === null) return null;
    try {
      const reply = await call("GET", url);
      if (reply.status !== 200) return new Error(`${url} answers ${reply.status}`);
      return readEngineMetrics(parsePrometheusText(reply.body), engine);
    } catch (error) {
      return error as Error;
    }
  }

  async #gpus(): Promise<readonly GpuReading[] | null> {
    const { call, dcgm_url: url = null, gpus = null } = this.#options;
    if (url !== null) {
      try {
        const reply = await call("GET", url);
        if (reply.status === 200) return readDcgm(parsePrometheusText(reply.body));
      } catch {
        return null;
      }
    }
    if (gpus === null || this.#gpusAbsent) return null;
    const readings = await gpus();
    if (readings === null) this.#gpusAbsent = true;
    return readings;
  }
}
