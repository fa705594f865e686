/** From the `engine` section and a cell's knobs to what a launcher takes. */
import { parseDuration } from "../core/duration.ts";
import { UserError } from "../core/failure.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { secrets } from "../core/secret.ts";
import type { Ms } from "../core/units.ts";
import { findLauncher } from "../server/launchers/index.ts";
import type { EngineSpec } from "../server/launchers/launcher.ts";
import type { EngineSection } from "./config-schema.ts";
import type { Cell } from "./grid.ts";

export function engineSpec(engine: EngineSection, knobs: JsonObject): EngineSpec {
  return {
    launcher: findLauncher(engine.type).name,
    model: engine.model,
    command: engine.command,
    args: engine.args,
    env: engine.env,
    config: engine.config as JsonObject | null,
    files: engine.files as EngineSpec["files"],
    shell: engine.shell,
    host: engine.host,
    knobs: { ...engine.knobs, ...knobs } as Record<string, JsonValue>,
  };
}

/** A key on the server's command line must not reach a log or a report either. */
export function registerSecrets({ args }: EngineSection): void {
  for (const [index, arg] of args.entries()) {
    const match = /^--?(?:api[-_]?key|hf[-_]?token|token|password)(?:=(.*))?$/i.exec(arg);
    if (match !== null) secrets.add(match[1] ?? args[index + 1]);
  }
}

/** Makes the command of every cell, so that a wrong knob is told before anything is started. */
export function checkCells(
  engine: EngineSection,
  cells: readonly Cell[],
  where: (keys: readonly PropertyKey[]) => string,
): void {
  const launcher = findLauncher(engine.type);
  const seen = new Set<string>();
  for (const cell of cells) {
    if (seen.has(cell.server)) continue;
    seen.add(cell.server);
    try {
      launcher.command(engineSpec(engine, cell.knobs), { port: 1, metrics_port: 2, folder: "." });
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      const culprit = Object.keys(cell.knobs).find((key) => error.message.includes(key));
      const place = where(culprit === undefined ? ["engine"] : ["grid", culprit]);
      throw new UserError(`${place}: ${error.message}`, {
        ...(error.hint === null ? {} : { hint: error.hint }),
        cause: error,
      });
    }
  }
}

/** GPUs that a cell's server takes, where its command tells. */
export function cellGpus(engine: EngineSection, knobs: JsonObject): number | null {
  const place = { port: 1, metrics_port: 2, folder: "." };
  return findLauncher(engine.type).command(engineSpec(engine, knobs), place).gpus;
}

export function durationOf(value: string | number, name: string): Ms {
  return parseDuration(String(value), name);
}
