/**
 * Trajectories that others refer to by file: sub-agents (`subagent_trajectory_ref[].trajectory_path`) and continuations
 * (`continued_trajectory_ref`), looked for beside the file that names them and nowhere else.
 */
import { readFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import type { JsonObject } from "../../core/json.ts";
import { parsePythonJson } from "../lossless-json.ts";
import { isObject, scalarText } from "../openai-messages.ts";
import type { OtherFile } from "./atif-trajectory.ts";

export interface ReferredFiles {
  /** By the reference (or, for a continuation, the document that is continued). */
  readonly byReference: ReadonlyMap<JsonObject, OtherFile>;
  /** Absolute paths. */
  readonly paths: ReadonlySet<string>;
}

/** Reads all files that `document` and what it refers to name. A file that is missing or no trajectory is left out. */
export async function referredFiles(
  document: JsonObject,
  path: string,
  name: string,
): Promise<ReferredFiles> {
  const byReference = new Map<JsonObject, OtherFile>();
  const read = new Map<string, JsonObject | null>([[resolve(path), document]]);
  const open: { readonly document: JsonObject; readonly path: string; readonly name: string }[] = [
    { document, path: resolve(path), name },
  ];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const folder = dirname(next.path);
    for (const [reference, told] of referencesOf(next.document)) {
      for (const found of candidates(folder, told)) {
        const isNew = !read.has(found);
        const other = isNew ? await readTrajectory(found) : (read.get(found) ?? null);
        read.set(found, other);
        if (other === null) continue;
        const file = join(dirname(next.name), relative(folder, found));
        byReference.set(reference, { document: other, file });
        if (isNew) open.push({ document: other, path: found, name: file });
        break;
      }
    }
  }
  const paths = [...read].filter(([, found]) => found !== null && found !== document).map(([one]) => one);
  return { byReference, paths: new Set(paths) };
}

/** The path as it is told, and (paths of the machine that ran the agent) its last part. */
function candidates(folder: string, told: string): string[] {
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(told)) return [];
  return [...new Set([resolve(folder, told), join(folder, basename(told))])].filter((path) =>
    path.startsWith(folder + sep),
  );
}

async function readTrajectory(path: string): Promise<JsonObject | null> {
  try {
    const document = parsePythonJson(await readFile(path, "utf8"));
    return isObject(document) && Array.isArray(document["steps"]) ? document : null;
  } catch {
    return null;
  }
}

function referencesOf(document: JsonObject): [JsonObject, string][] {
  const found: [JsonObject, string][] = [];
  const next = scalarText(document["continued_trajectory_ref"]);
  if (next !== "") found.push([document, next]);
  const steps = Array.isArray(document["steps"]) ? document["steps"].filter(isObject) : [];
  for (const step of steps) {
    const observation = isObject(step["observation"]) ? step["observation"] : {};
    const results = Array.isArray(observation["results"]) ? observation["results"].filter(isObject) : [];
    for (const { subagent_trajectory_ref: told } of results)
      for (const reference of (Array.isArray(told) ? told : [told]).filter(isObject)) {
        const path = scalarText(reference["trajectory_path"]);
        if (path !== "") found.push([reference, path]);
      }
  }
  const inner = document["subagent_trajectories"];
  if (Array.isArray(inner)) for (const one of inner.filter(isObject)) found.push(...referencesOf(one));
  return found;
}
