/** From the `engine` section and a cell's knobs to what a launcher takes. */
import { parseDuration } from "../core/duration.ts";
import { UserError } from "../core/failure.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { secrets } from "../core/secret.ts";
import type { Ms } from "../core/units.ts";
import { simSettings } from "../run/sim-target.ts";
import { findLauncher } from "../server/launchers/index.ts";
import type { EngineSpec } from "../server/launchers/launcher.ts";
import { resolveSimConfig } from "../sim/config.ts";
import { settingTexts } from "./replay-cell.ts";
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
  const launcher = placed(where(["engine", "type"]), () => findLauncher(engine.type));
  for (const key of ["ready_timeout", "stop_grace"] as const) {
    const value = engine[key];
    if (value !== null) placed(where(["engine", key]), () => durationOf(value, `engine.${key}`));
  }
  const seen = new Set<string>();
  for (const cell of cells) {
    if (seen.has(cell.server)) continue;
    seen.add(cell.server);
    const culprit = (message: string): string => {
      const key = Object.keys(cell.knobs).find((name) => message.includes(name));
      return key === undefined ? `${where(["engine"])}: ${cell.name}` : whereKnob(key, where);
    };
    placed(culprit, () => {
      const spec = engineSpec(engine, cell.knobs);
      const place = { port: 1, metrics_port: 2, folder: "." };
      launcher.command(spec, place);
      if (launcher.name !== "command")
        refuseOverridden(launcher.command({ ...spec, args: [] }, place).argv, spec.args);
      // Arguments may complete what the knobs begin: then only the simulator itself can tell.
      if (launcher.name === "sim" && spec.args.length === 0)
        resolveSimConfig(simSettings(settingTexts(spec.knobs as JsonObject)));
    });
  }
}

/** A dimension of the grid; what is not there stands in the cells. */
function whereKnob(key: string, where: (keys: readonly PropertyKey[]) => string): string {
  const place = where(["grid", key]);
  return place === where(["grid"]) ? where(["cells"]) : place;
}

/** What `action` throws, with its place in the file in front. */
function placed<T>(place: string | ((message: string) => string), action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError(`${typeof place === "string" ? place : place(error.message)}: ${error.message}`, {
      ...(error.hint === null ? {} : { hint: error.hint }),
      cause: error,
    });
  }
}

/**
 * Raw arguments come last, so they win: one that is also set by a knob, or by the launcher, would make every configuration
 * the same, or move the server to where nobody asks it.
 */
function refuseOverridden(made: readonly string[], args: readonly string[]): void {
  const flags = new Set(made.filter((word, index) => isFlag(word) && takesValue(made, index)).map(nameOf));
  const twice = args
    .filter(isFlag)
    .map(nameOf)
    .find((flag) => flags.has(flag));
  if (twice !== undefined)
    throw new UserError(`engine.args sets ${twice}, which is set for each configuration already`, {
      hint: "leave it out of args; port and host have keys of their own in the engine section",
    });
}

function isFlag(word: string): boolean {
  return /^--?[A-Za-z]/.test(word);
}

function takesValue(words: readonly string[], index: number): boolean {
  const next = words[index + 1];
  return (words[index] as string).includes("=") || (next !== undefined && !isFlag(next));
}

function nameOf(flag: string): string {
  return flag.split("=", 1)[0] as string;
}

/** GPUs that a cell's server takes, where its command tells. */
export function cellGpus(engine: EngineSection, knobs: JsonObject): number | null {
  const place = { port: 1, metrics_port: 2, folder: "." };
  return findLauncher(engine.type).command(engineSpec(engine, knobs), place).gpus;
}

export function durationOf(value: string | number, name: string): Ms {
  return parseDuration(String(value), name);
}

/** The simulator without a process of its own: asked for by running it on virtual time. */
export function runsInProcess(engine: EngineSection | null, options: JsonObject): boolean {
  return engine?.type === "sim" && options["virtual_time"] === true;
}

/** The engine's model, where it was named, as the knob that the engine in this process knows it by. */
export function modelKnob(model: string): JsonObject {
  return model === "" ? {} : { model };
}
