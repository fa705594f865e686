/**
 * Server metrics of one run: `engine.jsonl` beside the records while it lasts, and the whole interval in the manifest's end,
 * where summaries and reports find it (`engine`, the hit rate by counters, the mean prefill time).
 */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { secrets } from "../core/secret.ts";
import type { Ms } from "../core/units.ts";
import { readManifest, writeManifest } from "../record/manifest-file.ts";
import { recogniseEngine } from "./engine-metrics.ts";
import { readNvidiaSmi } from "./gpu-metrics.ts";
import type { HttpCall } from "./http-call.ts";
import { parsePrometheusText } from "./prometheus-text.ts";
import { Scraper } from "./scrape.ts";

const EVERY_MS = 500;

export interface RunScraperOptions {
  readonly metrics_url: string;
  /** As launchers name it, or as {@link findEngineMetrics} found it. */
  readonly engine: string;
  readonly dcgm_url?: string | null;
  /** GPUs of this machine are the server's, too. */
  readonly local_gpus: boolean;
  readonly clock: Clock;
  readonly call: HttpCall;
  readonly every_ms?: Ms;
}

export class RunScraper {
  readonly #options: RunScraperOptions;
  #scraper: Scraper | null = null;
  #starting: Promise<void> = Promise.resolve();

  constructor(options: RunScraperOptions) {
    this.#options = options;
  }

  /** When the run folder exists and `t0` is chosen. Returns at once. */
  start(folder: string, t0: Ms): void {
    const {
      metrics_url,
      engine,
      dcgm_url = null,
      local_gpus,
      clock,
      call,
      every_ms = EVERY_MS,
    } = this.#options;
    const file = join(folder, "engine.jsonl");
    this.#scraper = new Scraper({
      metrics_url,
      engine,
      dcgm_url,
      gpus: local_gpus ? () => readNvidiaSmi() : null,
      every_ms,
      t0,
      clock,
      call,
      write: (row) => appendFileSync(file, `${secrets.redact(JSON.stringify(row))}\n`),
    });
    this.#starting = this.#scraper.start();
  }

  /** When the run is over. A run that never started, or a server that told nothing, leaves the manifest as it is. */
  async finish(folder: string): Promise<void> {
    await this.#starting;
    const engine = await this.#scraper?.stop();
    if (engine === undefined || engine === null) return;
    const manifest = await readManifest(folder);
    if (manifest.end === null) return;
    writeManifest(folder, { ...manifest, end: { ...manifest.end, engine: { ...engine } } });
  }
}

/** Which engine's metrics this URL answers with; `null` if none that we know. For servers that were not launched by us. */
export async function findEngineMetrics(call: HttpCall, url: string): Promise<string | null> {
  try {
    const reply = await call("GET", url);
    return reply.status === 200 ? recogniseEngine(parsePrometheusText(reply.body)) : null;
  } catch {
    return null;
  }
}
