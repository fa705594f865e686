/** A file that is there whole or not at all. */
import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { UserError } from "../core/failure.ts";

/**
 * Writes `text` beside `path`, syncs it, and renames it over `path`. Synchronous: called a few times a run, never while
 * requests are in flight. A disk that cannot take it is a {@link UserError}; what was at `path` before stays.
 */
export function writeFileAtomic(path: string, text: string): void {
  const temporary = `${path}.tmp`;
  try {
    const file = openSync(temporary, "w");
    try {
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at, bytes.length - at);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw writeError(path, error);
  }
}

/**
 * The same on a disk that is full: over the file that is there, in the room that it has. What was there before is put back where that
 * is too small. Only for the little that says how a run ended: a process killed in the middle leaves half of it.
 */
export function overwriteFile(path: string, text: string): void {
  try {
    writeFileAtomic(path, text);
  } catch (error) {
    if (!(error instanceof UserError) || !FULL.has((error.cause as NodeJS.ErrnoException).code ?? ""))
      throw error;
    const before = readFileSync(path);
    if (!fits(path, Buffer.from(text))) {
      fits(path, before);
      throw error;
    }
  }
}

const FULL = new Set(["ENOSPC", "EDQUOT"]);

function fits(path: string, bytes: Buffer): boolean {
  const file = openSync(path, "r+");
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at, bytes.length - at, at);
    ftruncateSync(file, bytes.length);
    fsyncSync(file);
    return true;
  } catch {
    return false;
  } finally {
    closeSync(file);
  }
}

/** The one-line form of a failed write; errors that are not the file system's pass unchanged. */
export function writeError(path: string, error: unknown): unknown {
  const code = (error as NodeJS.ErrnoException).code;
  const reasons: Record<string, string> = {
    ENOSPC: "no space left on the disk",
    EDQUOT: "the disk quota is used up",
    EACCES: "permission denied",
    EPERM: "permission denied",
    EROFS: "the file system is read-only",
    EEXIST: "it exists; another run writes there",
    ENOENT: "no such folder, and none can be made there",
    ELOOP: "a link of the path leads back to itself",
    ENOTDIR: "a part of the path is not a folder",
    ENAMETOOLONG: "the name is too long",
    EIO: "the disk reports an error",
    EFBIG: "the file would be too large",
  };
  const reason = code === undefined ? undefined : reasons[code];
  if (reason === undefined) return error;
  return new UserError(`${path}: cannot write: ${reason}`, {
    hint: "choose another folder with --out",
    cause: error,
  });
}
