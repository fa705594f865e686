/** Samples the metrics of the server under load, where it has any: `engine.jsonl`, and the engine block of the summary. */
import { readApiKey } from "../client/api-key.ts";
import { serverUrl } from "../client/endpoint.ts";
import { EXIT, UserError } from "../core/failure.ts";
import { plainText } from "../core/terminal-text.ts";
import { readManifest, writeManifest } from "../record/manifest-file.ts";
import type { RunEnvironment } from "../run/run-environment.ts";
import type { TargetGiven } from "../run/http-target.ts";
import { createHttpCall } from "../server/http-call.ts";
import { findEngineMetrics, RunScraper } from "../server/run-scraper.ts";
import type { Io } from "./verb.ts";

const TIMEOUT_MS = 2_000;
const SCRAPE_EVERY_MS = 500;

export interface ServerMetrics {
  readonly environment: RunEnvironment;
  /** After the run, before its numbers are computed. */
  readonly finish: (folder: string) => Promise<void>;
}

/**
 * Wraps the environment of a run. Only what `--metrics-url` names is asked (`auto`: the server's own /metrics): nothing but the load
 * reaches a server uninvited. An address that does not answer with metrics we know is a `UserError`.
 */
export async function withServerMetrics(
  given: TargetGiven,
  environment: RunEnvironment,
  io: Io,
): Promise<ServerMetrics> {
  const wanted = given.metrics_url;
  if (wanted === undefined) return { environment, finish: () => Promise.resolve() };
  const base = given.base_url ?? `http://${given.host ?? "localhost"}:${given.port ?? 8000}`;
  const url = wanted === "auto" ? serverUrl(base, "/metrics") : wanted;
  const apiKey = readApiKey({ envName: given.api_key_env ?? null, file: given.api_key_file ?? null }, io.env);
  const headers = { ...(apiKey === null ? {} : { Authorization: `Bearer ${apiKey}` }), ...given.header };
  const call = createHttpCall(io.clock, TIMEOUT_MS, headers);
  const engine = await findEngineMetrics(call, url);
  if (engine === null)
    throw new UserError(`--metrics-url: ${plainText(url)} does not answer with metrics of an engine`, {
      hint: "give the address of its Prometheus metrics",
      exitCode: EXIT.unreachable,
    });
  const scraper = new RunScraper({
    metrics_url: url,
    engine,
    local_gpus: /^(localhost|127\.|\[?::1)/.test(
      new URL(url.includes("://") ? url : `http://${url}`).hostname,
    ),
    clock: io.clock,
    call,
    every_ms: SCRAPE_EVERY_MS,
  });
  return {
    environment: {
      ...environment,
      onStart: (run, plan) => {
        environment.onStart?.(run, plan);
        if (!run.virtual) scraper.start(run.folder, run.t0);
      },
    },
    finish: async (folder) => {
      const told = await scraper.finish();
      const manifest = await readManifest(folder);
      if (told === null || manifest.end === null) return;
      writeManifest(folder, { ...manifest, end: { ...manifest.end, engine: { ...told } } });
    },
  };
}
