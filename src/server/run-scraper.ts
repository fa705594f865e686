/** Server metrics of one run: `engine.jsonl` beside the records while it lasts, and the whole interval when it is over. */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { secrets } from "../core/secret.ts";
import type { Ms } from "../core/units.ts";
import { recogniseEngine } from "./engine-metrics.ts";
import type { EngineSummary } from "./engine-tally.ts";
import { joinPerfMetrics, PerfDrain, type PerfMetrics, type SentRecord } from "./perf-metrics.ts";
import { writeEngineRequests } from "../record/engine-requests.ts";
import { readRecords } from "../record/read-run.ts";
import { readNvidiaSmi } from "./gpu-metrics.ts";
import type { HttpCall } from "./http-call.ts";
import { parsePrometheusText } from "./prometheus-text.ts";
import { Scraper, type EngineRow } from "./scrape.ts";

export const ENGINE_FILE = "engine.jsonl";

export interface RunScraperOptions {
  readonly metrics_url: string;
  /** As launchers name it, or as {@link findEngineMetrics} found it. */
  readonly engine: string;
  readonly dcgm_url?: string | null;
  /** GPUs of this machine are the server's, too. */
  readonly local_gpus: boolean;
  readonly clock: Clock;
  readonly call: HttpCall;
  readonly every_ms: Ms;
  /** Told what went wrong, if anything. */
  readonly warn?: (text: string) => void;
}

export class RunScraper {
  readonly #options: RunScraperOptions;
  #scraper: Scraper | null = null;
  #folder = "";
  /** TensorRT-LLM tells of each request by a door of its own. */
  readonly #perRequest: PerfDrain | null;
  #starting: Promise<void> = Promise.resolve();

  constructor(options: RunScraperOptions) {
    this.#options = options;
    const { engine, metrics_url, call, clock } = options;
    this.#perRequest =
      engine === "trtllm" ? new PerfDrain(new URL("/perf_metrics", metrics_url).href, call, clock) : null;
  }

  /** When the run folder exists and `t0` is chosen. Returns at once. */
  start(folder: string, t0: Ms): void {
    const { local_gpus, warn: _warn, ...options } = this.#options;
    this.#folder = folder;
    const file = join(folder, ENGINE_FILE);
    this.#scraper = new Scraper({
      ...options,
      gpus: local_gpus ? () => readNvidiaSmi() : null,
      t0,
      write: (row) => appendEngineRows(file, [row]),
    });
    this.#starting = Promise.all([this.#scraper.start(), this.#perRequest?.start()]).then(() => undefined);
  }

  /** When the run is over. `null`: it never started, or the server told nothing. */
  async finish(): Promise<EngineSummary | null> {
    await this.#starting;
    if (this.#scraper !== null && this.#perRequest !== null) await this.#join(await this.#perRequest.stop());
    return (await this.#scraper?.stop()) ?? null;
  }

  async #join(told: readonly PerfMetrics[]): Promise<void> {
    if (told.length === 0) return;
    const records: SentRecord[] = [];
    for await (const batch of readRecords(join(this.#folder, "records.jsonl")))
      for (const { request_id, status, sent_ms, last_token_ms } of batch)
        records.push({ request_id, status, sent_ms, last_token_ms });
    const joined = joinPerfMetrics(records, told);
    if (joined.size === 0) {
      this.#options.warn?.(
        `/perf_metrics told of ${told.length} requests, which is neither as many as were sent nor as ended well: not used`,
      );
      return;
    }
    try {
      writeEngineRequests(this.#folder, joined);
    } catch {
      // The run log tells of the disk.
    }
  }
}

/** A disk that is full costs these rows, never the run. */
export function appendEngineRows(file: string, rows: readonly EngineRow[]): void {
  try {
    appendFileSync(file, rows.map((row) => `${secrets.redact(JSON.stringify(row))}\n`).join(""));
  } catch {
    // The run log tells of the disk.
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
