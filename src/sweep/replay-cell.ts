/** Makes one run of a sweep with the run layer: options checked, trace replayed, server metrics sampled, numbers written. */
import { UserError } from "../core/failure.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { writeRunJson } from "../record/run-folder.ts";
import { analyzeFolder, summaryFlags } from "../run/analyze-run.ts";
import { givenFromObject } from "../run/options/option.ts";
import type { ReplayGiven } from "../run/options/replay-options.ts";
import type { BenchGiven } from "../run/options/bench-options.ts";
import { runBench } from "../run/bench.ts";
import { runReplay } from "../run/replay.ts";
import type { RunEnvironment } from "../run/run-environment.ts";
import { simSettings } from "../server/launchers/sim.ts";
import { loadOptionsOf, optionsOf, verbOf } from "./cell-verb.ts";
import type { CellOutcome, CellTask, RunOnce } from "./run-sweep.ts";

/** Options of `replay` that a grid may vary without another server. */
export const LOAD_OPTIONS: readonly string[] = loadOptionsOf("replay");

/** `flags` were given on the command line, checked already: they win over the file, and the cell's load over them. */
export function replayCell(env: RunEnvironment, flags: ReplayGiven = {}): RunOnce {
  const warned = new Set<string>();
  return async (task: CellTask): Promise<CellOutcome> => {
    const given = givenOf(task, flags);
    const environment: RunEnvironment = {
      ...env,
      // What holds for one cell mostly holds for all.
      warn: (text) => {
        if (!warned.has(text)) env.warn(`${task.cell.name}: ${text}`);
        warned.add(text);
      },
      onInterrupt: (handler) => {
        // An interrupt that came while the run was being prepared counts as its first.
        const missed = task.signal.aborted ? 1 : 0;
        if (missed > 0) env.clock.at(env.clock.now(), () => handler(missed));
        return env.onInterrupt((count) => handler(count + missed));
      },
      server:
        task.server === null
          ? null
          : {
              metrics_url: task.server.command.metrics_url,
              engine: task.server.command.engine,
              dcgm_url: task.dcgm_url,
            },
    };
    const finished =
      verbOf(task.options) === "bench"
        ? await runBench(given as BenchGiven, environment)
        : await runReplay({ given, tracePath: traceOf(given), command: "sweep" }, environment);
    const analysis = await analyzeFolder(finished.folder, summaryFlags(given as JsonObject));
    writeRunJson(finished.folder, "summary.json", analysis.summary);
    if (finished.earlyStop !== null) {
      throw new UserError(finished.earlyStop.message, { hint: finished.earlyStop.hint });
    }
    return {
      folder: finished.folder,
      summary: analysis.summary,
      interrupted: finished.interrupted,
      fresh_prompts:
        given.prompt_seed === undefined && analysis.manifest.plan.provenance["prompt_text"] === "made up",
    };
  };
}

function traceOf({ trace_file: trace }: ReplayGiven): string {
  if (trace !== undefined) return trace;
  throw new UserError("which trace? the configuration names none", { hint: "trace: agents.jsonl" });
}

/** Options of one cell's run, checked. `where` names the place of one for a complaint. */
export function givenOf(
  task: Pick<CellTask, "cell" | "options" | "out" | "in_process">,
  flags: ReplayGiven,
  where: (key: string) => string = () => `cell ${task.cell.name}`,
): ReplayGiven {
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
    ...(task.in_process === null ? {} : { backend: "sim", sim: settingTexts(task.in_process) }),
  };
  const { out: _out, label: _label, metadata: _metadata, ...winning } = flags;
  return { ...(givenFromObject(optionsOf(verbOf(options)), merged, where) as ReplayGiven), ...winning };
}

/** Knobs as `--sim key=value` would tell them to the simulator in this process. */
export function settingTexts(knobs: JsonObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(simSettings(knobs as Record<string, JsonValue>)).map(([key, value]) => [
      key,
      Array.isArray(value) ? value.join(",") : text(value),
    ]),
  );
}

function text(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
