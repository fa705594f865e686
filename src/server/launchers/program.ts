/** The program part of a launch: the engine's usual one, or what the user put in its place. */
import { UserError } from "../../core/failure.ts";
import { splitWords } from "./words.ts";
import type { EngineSpec } from "./launcher.ts";

/** `command: "docker exec box vllm serve"` or a list; without it `usual`. */
export function programOf(spec: EngineSpec, usual: readonly string[]): readonly string[] {
  if (spec.command === null) return usual;
  const words = typeof spec.command === "string" ? splitWords(spec.command) : spec.command;
  if (words.length === 0) throw new UserError("engine.command is empty");
  return words;
}

export function baseUrl(host: string, port: number): string {
  const reached = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${reached.includes(":") ? `[${reached}]` : reached}:${port}`;
}

/** A model must be told, since no engine here has one of its own. */
export function needModel(spec: EngineSpec): string {
  if (spec.model === "")
    throw new UserError(`engine.model is missing: which model shall ${spec.launcher} serve?`);
  return spec.model;
}
