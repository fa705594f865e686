/** Folders that are one trace, a file a session: their files, and a look at the first for detection. */
import { closeSync, openSync, readSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { constants, gunzipSync } from "node:zlib";
import { UserError } from "../core/failure.ts";
import type { Sample } from "./format.ts";

const JSON_FILE = /\.json(\.gz)?$/i;
const HEAD_BYTES = 1 << 16;

/** Paths of the JSON files right in a folder, sorted by name. None is a {@link UserError}. */
export async function jsonFilesIn(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => JSON_FILE.test(name) && !name.startsWith("."));
  if (names.length === 0) throw new UserError(`${folder}: no .json file in this folder`);
  return names.sort().map((name) => join(folder, name));
}

/** The beginning of what detection looks at: of the file, or of the folder's first JSON file. Never throws. */
export function sampleHead(sample: Sample): string {
  if (!sample.isFolder) return sample.head;
  const first = sample.files.find((name) => JSON_FILE.test(name) && !name.startsWith("."));
  if (first === undefined) return "";
  try {
    const bytes = Buffer.alloc(HEAD_BYTES);
    const file = openSync(join(sample.path, first), "r");
    const length = readSync(file, bytes, 0, HEAD_BYTES, 0);
    closeSync(file);
    const head = bytes.subarray(0, length);
    const plain =
      head[0] === 0x1f && head[1] === 0x8b ? gunzipSync(head, { finishFlush: constants.Z_SYNC_FLUSH }) : head;
    return plain.toString("utf8");
  } catch {
    return "";
  }
}
