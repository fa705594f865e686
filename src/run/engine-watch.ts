/**
 * What the engine says of itself while a run lasts: `engine.jsonl` (ms after t0), and the whole interval for the manifest's end.
 * A server behind HTTP is asked only where `--engine-metrics` wants it: nothing but the load reaches a server uninvited.
 */
import { EXIT, UserError } from "../core/failure.ts";
import type { Clock } from "../core/clock.ts";
import type { JsonObject } from "../core/json.ts";
import { plainText } from "../core/terminal-text.ts";
import type { Ms } from "../core/units.ts";
import type { HttpCall } from "../server/http-call.ts";
import { findEngineMetrics, RunScraper } from "../server/run-scraper.ts";
import { readServerFacts } from "../server/server-facts.ts";

/** Time between samples: half a second, more in runs of hours. */
const EVERY_MS = 500;
const MOST_SAMPLES = 50_000;

export interface WatchedRun {
  readonly folder: string;
  /** On the target's clock. */
  readonly t0: Ms;
  /** How long the plan's arrivals last; `null` = unknown. */
  readonly span_ms: Ms | null;
}

export interface EngineWatch {
  /** Before the run's folder is made. Resolves with what the server says of itself; `null` = nothing. */
  open(span_ms: Ms | null, warn: (text: string) => void): Promise<JsonObject | null>;
  /** When `t0` is chosen. Returns at once. */
  start(run: WatchedRun): void;
  /** When the run is over, however it ended: the interval's numbers, `null` if there are none. Nothing is sampled after that. */
  finish(): Promise<JsonObject | null>;
}

/** What is known beforehand of a server that was started for this run. */
export interface KnownServer {
  /** `null` = it has none. */
  readonly metrics_url: string | null;
  readonly engine: string;
  readonly dcgm_url: string | null;
}

export interface ServerWatchOptions {
  /** `auto`, `off` or an address; absent = off. */
  readonly wanted: string | undefined;
  readonly known: KnownServer | null;
  readonly model: string;
  /** A path of the server as a whole URL. */
  readonly url: (path: string) => string;
  readonly clock: Clock;
  /** With the run's credentials for its own server, and only for that one. */
  readonly call: HttpCall;
}

/** Where servers show Prometheus metrics: TensorRT-LLM has them a level below, and JSON at the usual place. */
const USUAL = ["/metrics", "/prometheus/metrics"];

/** Watches a server behind HTTP. */
export function createServerWatch(options: ServerWatchOptions): EngineWatch {
  let scraper: RunScraper | null = null;
  return {
    open: async (span_ms, warn) => {
      const { call, clock, known } = options;
      const source = await findSource(options, warn);
      if (source !== null) {
        scraper = new RunScraper({
          ...source,
          dcgm_url: known?.dcgm_url ?? null,
          local_gpus: known !== null || isLocal(source.metrics_url),
          clock,
          call,
          every_ms: Math.max(EVERY_MS, (span_ms ?? 0) / MOST_SAMPLES),
          warn,
        });
      }
      const facts = await readServerFacts(options);
      const models = facts?.["models"];
      if (Array.isArray(models)) {
        const names = plainText(models.slice(0, 8).join(", "));
        warn(
          `the server lists no model "${plainText(options.model)}", only ${names}; some servers answer all the same`,
        );
      }
      return source === null ? facts : { engine: source.engine, ...facts };
    },
    start: ({ folder, t0 }) => scraper?.start(folder, t0),
    finish: async () => {
      const ended = scraper;
      scraper = null;
      const summary = (await ended?.finish()) ?? null;
      return summary === null ? null : { ...summary };
    },
  };
}

async function findSource(
  { wanted, known, url, call }: ServerWatchOptions,
  warn: (text: string) => void,
): Promise<{ metrics_url: string; engine: string } | null> {
  if (wanted === "off") return null;
  if (wanted === undefined) {
    if (known === null || known.metrics_url === null) return null;
    return { metrics_url: known.metrics_url, engine: known.engine };
  }
  const places = wanted === "auto" ? USUAL.map((path) => url(path)) : [wanted];
  for (const metrics_url of places) {
    const engine = await findEngineMetrics(call, metrics_url);
    if (engine !== null) return { metrics_url, engine };
  }
  const place = plainText(places[0] as string);
  if (wanted !== "auto") {
    throw new UserError(`--engine-metrics: ${place} does not answer with metrics of an engine`, {
      hint: "give the address of its Prometheus metrics, or `off`",
      exitCode: EXIT.unreachable,
    });
  }
  warn(
    `no engine metrics: ${place} does not answer with any that we know (llama.cpp and SGLang show them only when started so; FastDeploy has a port of its own: --engine-metrics URL)`,
  );
  return null;
}

function isLocal(url: string): boolean {
  const { hostname } = new URL(url.includes("://") ? url : `http://${url}`);
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}
