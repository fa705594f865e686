/** Makes a folder and what is missing above it. */
import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/**
 * As `mkdir -p`, one folder at a time: Node's own recursive form never returns on file systems that refuse new folders with
 * ENOENT (`/proc`), and hides behind ENOENT that one is read-only. Throws the file system's error.
 */
export function makeFolder(path: string): void {
  try {
    makeOne(path);
  } catch (error) {
    const parent = dirname(resolve(path));
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || parent === resolve(path)) throw error;
    makeFolder(parent);
    makeOne(path);
  }
}

/** A folder that is there already is as good as one made. */
function makeOne(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A read-only file system says so before it says that the folder exists.
    if ((code !== "EEXIST" && code !== "EROFS" && code !== "EACCES") || !isFolder(path)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
