/** Creates the folder of one run. Nothing that exists is ever overwritten. */
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { UserError } from "../core/failure.ts";
import type { Ms } from "../core/units.ts";
import { writeError, writeFileAtomic } from "./atomic-file.ts";
import { makeFolder } from "./make-folder.ts";
import { redactedJson } from "./redacted-json.ts";

export interface RunFolderRequest {
  /** `--out`: the folder itself. May exist if it is empty. */
  readonly out?: string | null;
  /** Parent of the made-up name; default `runs`. */
  readonly root?: string;
  /** Unix ms of the run's start. */
  readonly startedAt: Ms;
  /** What the name tells; any text. `null` leaves the part out. */
  readonly trace: string | null;
  readonly model: string;
}

/**
 * Makes the run's folder and returns its path: `--out`, or `runs/<time>-<trace>-<model>` (UTC). A second run in the same
 * second gets `-2`. Names with `/`, `:` or worse become one harmless folder name. {@link UserError} when `--out`
 * exists and is not empty, or the disk refuses.
 */
export function createRunFolder(request: RunFolderRequest): string {
  const { out } = request;
  if (out !== undefined && out !== null) return createNamed(out);
  const root = request.root ?? "runs";
  const name = runName(request);
  try {
    makeFolder(root);
    for (let copy = 1; ; copy++) {
      const folder = join(root, copy === 1 ? name : `${name}-${copy}`);
      try {
        // Not recursive: mkdir is the lock that two runs in one second compete for.
        mkdirSync(folder);
        return folder;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST")
      throw new UserError(`${root}: exists and is not a folder`, { hint: "choose another with --out" });
    throw writeError(root, error);
  }
}

function createNamed(out: string): string {
  try {
    makeFolder(out);
    if (readdirSync(out).length > 0) {
      throw new UserError(`${out}: exists and is not empty`, {
        hint: "runs are never overwritten: name a new folder with --out",
      });
    }
    return out;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "EEXIST" || code === "ENOTDIR")
      throw new UserError(`${out}: exists and is not a folder`, { hint: "name a new folder with --out" });
    throw writeError(out, error);
  }
}

/** `20260131-235959-<trace>-<model>`, UTC. */
export function runName(request: Pick<RunFolderRequest, "startedAt" | "trace" | "model">): string {
  const time = new Date(request.startedAt).toISOString();
  const stamp = `${time.slice(0, 10).replaceAll("-", "")}-${time.slice(11, 19).replaceAll(":", "")}`;
  return [stamp, request.trace === null ? null : fileNamePart(request.trace), fileNamePart(request.model)]
    .filter((part) => part !== null)
    .join("-");
}

/** Any text as one part of a file name: letters, digits, `.`, `_`, `-`; never a separator, never empty, at most 60. */
export function fileNamePart(text: string): string {
  const plain = text
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9._-]+/g, "_")
    .replace(/\.{2,}/g, "_")
    .replace(/^[._-]+|[._-]+$/g, "");
  return plain === "" ? "unnamed" : plain.slice(0, 60);
}

/** Writes a JSON file of the run folder (`summary.json`, ...) whole or not at all, secrets redacted. */
export function writeRunJson(folder: string, name: string, value: unknown): void {
  writeFileAtomic(join(folder, name), runJson(value));
}

/** The text of a JSON file of the run folder. */
export function runJson(value: unknown): string {
  return `${redactedJson(value, 2)}\n`;
}
