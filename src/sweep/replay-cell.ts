/** Makes one run of a sweep with the run layer: options checked, trace replayed, server metrics sampled, numbers written. */
import { UserError } from "../core/failure.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { readManifest, writeManifest } from "../record/manifest-file.ts";
import { writeRunJson } from "../record/run-folder.ts";
import { analyzeFolder, summaryFlags } from "../run/analyze-run.ts";
import { givenFromObject } from "../run/options/option.ts";
import { replayOptions, type ReplayGiven } from "../run/options/replay-options.ts";
import { runReplay } from "../run/replay.ts";
import type { RunEnvironment } from "../run/run-environment.ts";
import type { HttpCall } from "../server/http-call.ts";
import { simSettings } from "../server/launchers/sim.ts";
import type { EngineSummary } from "../server/engine-tally.ts";
import { RunScraper } from "../server/run-scraper.ts";
import type { CellOutcome, CellTask, RunOnce } from "./run-sweep.ts";

const SCRAPE_EVERY_MS = 500;

/** Options of `replay` that a grid may vary without another server. */
export const LOAD_OPTIONS: readonly string[] = Object.keys(replayOptions).filter(
  (key) =>
    !["base_url", "host", "port", "out", "json", "config", "label", "model", "trace_file", "sim"].includes(
      key,
    ),
);

/** `flags` were given on the command line, checked already: they win over the file, and the cell's load over them. */
export function replayCell(env: RunEnvironment, call: HttpCall, flags: ReplayGiven = {}): RunOnce {
  return async (task: CellTask): Promise<CellOutcome> => {
    const given = givenOf(task, flags);
    const trace = given.trace_file;
    if (trace === undefined)
      throw new UserError("which trace? the configuration names none", { hint: "trace: agents.jsonl" });
    const scraper =
      task.server === null || task.server.command.metrics_url === null
        ? null
        : new RunScraper({
            metrics_url: task.server.command.metrics_url,
            engine: task.server.command.engine,
            dcgm_url: task.dcgm_url,
            local_gpus: true,
            every_ms: SCRAPE_EVERY_MS,
            clock: env.clock,
            call,
          });
    const finished = await runReplay(
      { given, tracePath: trace, command: "sweep" },
      {
        ...env,
        warn: (text) => env.warn(`${task.cell.name}: ${text}`),
        onInterrupt: (handler) => {
          // An interrupt that came while the run was being prepared counts as its first.
          const missed = task.signal.aborted ? 1 : 0;
          if (missed > 0) env.clock.at(env.clock.now(), () => handler(missed));
          return env.onInterrupt((count) => handler(count + missed));
        },
        onStart: (run, plan) => {
          env.onStart?.(run, plan);
          scraper?.start(run.folder, run.t0);
        },
      },
    );
    const engine = (await scraper?.finish()) ?? null;
    if (engine !== null) await keepEngineFacts(finished.folder, engine);
    const analysis = await analyzeFolder(finished.folder, summaryFlags(given as JsonObject));
    writeRunJson(finished.folder, "summary.json", analysis.summary);
    if (finished.earlyStop !== null) {
      throw new UserError(finished.earlyStop.message, { hint: finished.earlyStop.hint });
    }
    return { folder: finished.folder, summary: analysis.summary, interrupted: finished.interrupted };
  };
}

/** The manifest's end is where summaries and reports look for what the server said of the whole run. */
async function keepEngineFacts(folder: string, engine: EngineSummary): Promise<void> {
  const manifest = await readManifest(folder);
  if (manifest.end === null) return;
  writeManifest(folder, { ...manifest, end: { ...manifest.end, engine: { ...engine } } });
}

function givenOf(task: CellTask, flags: ReplayGiven): ReplayGiven {
  const { cell, options } = task;
  const knobs = Object.entries({ ...task.in_process, ...cell.knobs });
  const metadata = (options["metadata"] ?? {}) as JsonObject;
  const merged: JsonObject = {
    ...options,
    out: task.out,
    label: typeof options["label"] === "string" ? `${options["label"]} ${cell.name}` : cell.name,
    metadata: {
      ...metadata,
      ...Object.fromEntries(knobs.map(([name, value]) => [`engine.${name}`, text(value ?? null)])),
    },
    ...(task.in_process === null
      ? {}
      : { backend: "sim", sim: mapText(simSettings(task.in_process as Record<string, JsonValue>)) }),
  };
  const { out: _out, label: _label, metadata: _metadata, ...winning } = flags;
  return { ...givenFromObject(replayOptions, merged, `cell ${cell.name}`), ...winning };
}

function mapText(values: Readonly<Record<string, JsonValue>>): JsonObject {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, Array.isArray(value) ? value.join(",") : text(value)]),
  );
}

function text(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
