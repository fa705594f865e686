/**
 * `reprise.yaml`: one file for replay, bench and sweep. Options stand at the top level or in the groups `target`, `workload`,
 * `objectives`; the groups are only for the reader. `${NAME}` takes a secret from the environment, in `engine.env` and `header`
 * only: everything else must be the same wherever the file is read.
 */
import { dirname, resolve } from "node:path";
import { z } from "zod";
import { readText } from "../core/lines.ts";
import { UserError } from "../core/failure.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { nearest } from "../core/nearest.ts";
import { secrets } from "../core/secret.ts";
import { SWEEP_KEYS, sweepSchema, engineSchema, type SweepSections } from "./config-schema.ts";
import { YamlSource } from "./yaml-source.ts";

export interface RepriseConfig {
  readonly path: string;
  /** Options of replay or bench, flat; not yet checked against their table. */
  readonly options: JsonObject;
  readonly sweep: SweepSections;
  /** Names of environment variables whose values were taken. */
  readonly references: readonly string[];
  /** `file:line:column` of an option or section. */
  readonly where: (keys: readonly PropertyKey[]) => string;
  /** `file:line:column` of an option by its own name, in whatever group it stands. */
  readonly whereOption: (key: string) => string;
}

const GROUPS = ["target", "workload", "objectives"] as const;

/** Reads and checks the file. `known` are the option keys of the verb that will use them. */
export async function readConfig(
  path: string,
  known: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<RepriseConfig> {
  return parseConfig(path, await readText(path), known, env);
}

export function parseConfig(
  path: string,
  text: string,
  known: readonly string[],
  env: NodeJS.ProcessEnv,
): RepriseConfig {
  const source = new YamlSource(path, text);
  const { value } = source;
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new UserError(`${path}: holds no mapping`, { hint: "begin with trace: and engine:" });
  const sections: Record<string, JsonValue> = {};
  const options: Record<string, JsonValue> = {};
  const places = new Map<string, readonly string[]>();
  const put = (key: string, item: JsonValue, place: readonly string[]): void => {
    if (!known.includes(key))
      throw unknownKey(source, place, key, [...known, ...(place.length === 1 ? SWEEP_KEYS : [])]);
    if (places.has(key))
      throw source.error(place, `"${key}" is given twice, also at ${source.where(places.get(key) ?? [])}`);
    places.set(key, place);
    options[key] = item;
  };
  for (const [key, item] of Object.entries(value as JsonObject)) {
    if (item === undefined) continue;
    // `trace` is what people call it; the option is `trace_file`.
    if (SWEEP_KEYS.includes(key)) sections[key] = item;
    else put(key === "trace" ? "trace_file" : key, item, [key]);
  }
  const references: string[] = [];
  const parsed = check(source, sections, known);
  for (const group of GROUPS) {
    const content = parsed[group];
    if (Array.isArray(content)) put("slo", content as JsonValue, [group]);
    else
      for (const [key, item] of Object.entries(content as JsonObject))
        put(key === "trace" ? "trace_file" : key, item ?? null, [group, key]);
  }
  if (parsed.budget !== undefined) put("job_budget", String(parsed.budget), ["budget"]);
  const resolved = { ...options };
  const { header } = options;
  if (typeof header === "object" && header !== null && !Array.isArray(header)) {
    resolved["header"] = Object.fromEntries(
      Object.entries(header as JsonObject).map(([name, word]) => [
        name,
        typeof word === "string"
          ? takeSecret(source, places.get("header") ?? [], word, env, references)
          : (word ?? null),
      ]),
    );
  }
  for (const [key, item] of Object.entries(options)) {
    if (key !== "header" && /\$\{\w+\}/.test(JSON.stringify(item)))
      throw source.error(
        places.get(key) ?? [],
        `${key} takes no environment reference`,
        "${NAME} is for secrets: in engine.env and header",
      );
  }
  for (const [section, content] of Object.entries(sections)) refuseReferences(source, section, content);
  // A relative trace is relative to the file that names it.
  for (const key of ["trace_file", "dataset_path"]) {
    const file = resolved[key];
    if (typeof file === "string" && file !== "-" && path !== "-")
      resolved[key] = resolve(dirname(path), file);
  }
  const engine =
    parsed.engine === null
      ? null
      : {
          ...parsed.engine,
          env: Object.fromEntries(
            Object.entries(parsed.engine.env).map(([name, word]) => [
              name,
              takeSecret(source, ["engine", "env", name], word, env, references),
            ]),
          ),
        };
  return {
    path,
    options: resolved,
    sweep: { ...parsed, engine },
    references,
    where: (keys) => source.where(keys),
    whereOption: (key) => source.where(places.get(key) ?? []),
  };
}

/** Where the server reads its own variables (files, a shell's command), `${NAME}` is its business. */
function refuseReferences(source: YamlSource, section: string, content: JsonValue): void {
  const refuse = (place: readonly string[], value: JsonValue | undefined): void => {
    if (value === undefined || !/\$\{\w+\}/.test(JSON.stringify(value))) return;
    throw source.error(
      place,
      `${place.join(".")} takes no environment reference`,
      "${NAME} is for secrets: in engine.env and header",
    );
  };
  if (section !== "engine") {
    if (section === "grid" || section === "cells") refuse([section], content);
    return;
  }
  const engine = content as JsonObject;
  for (const [key, value] of Object.entries(engine)) {
    if (key === "env" || key === "files" || (key === "command" && engine["shell"] === true)) continue;
    refuse(["engine", key], value);
  }
}

function check(source: YamlSource, sections: JsonObject, known: readonly string[]): SweepSections {
  const result = sweepSchema.safeParse(sections);
  if (result.success) return result.data;
  throw issueError(source, result.error, known);
}

function issueError(source: YamlSource, error: z.ZodError, known: readonly string[]): UserError {
  // A union reports its branches: the deepest complaint is the helpful one.
  const flat = error.issues.flatMap((issue) => flatten(issue));
  const issue = flat.toSorted((a, b) => b.path.length - a.path.length)[0] as z.core.$ZodIssue;
  if (issue.code === "unrecognized_keys") {
    const key = issue.keys[0] as string;
    return unknownKey(
      source,
      [...issue.path, key],
      key,
      issue.path[0] === "engine" ? Object.keys(engineSchema.shape) : SWEEP_KEYS,
      known,
    );
  }
  const name = issue.path.join(".");
  if (issue.code === "invalid_type" && issue.message.endsWith("received undefined"))
    return source.error(issue.path, `${name} is missing`);
  return source.error(issue.path, `${name}: ${issue.message}`);
}

function flatten(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return [issue];
  return issue.errors
    .flat()
    .map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }) as z.core.$ZodIssue);
}

/** `elsewhere`: options of the load, which people also look for in the engine's section. */
function unknownKey(
  source: YamlSource,
  place: readonly PropertyKey[],
  key: string,
  known: readonly string[],
  elsewhere: readonly string[] = [],
): UserError {
  if (elsewhere.includes(key))
    return source.error(
      place,
      `"${key}" is no key of ${String(place[0])}`,
      "an option of the load: write it under workload or target",
    );
  const near = nearest(key, known);
  return source.error(
    place,
    `unknown key "${key}"`,
    near === null ? `known: ${known.slice(0, 40).join(", ")}` : `did you mean ${near}?`,
  );
}

function takeSecret(
  source: YamlSource,
  place: readonly PropertyKey[],
  value: string,
  env: NodeJS.ProcessEnv,
  references: string[],
): string {
  return value.replace(/\$\{(\w+)\}/g, (_match, name: string) => {
    const found = env[name];
    if (found === undefined || found === "")
      throw source.error(place, `the environment variable ${name} is not set`);
    secrets.add(found);
    references.push(name);
    return found;
  });
}
