/** Where a command writes its file: standard output, or a file that is whole or not there at all. */
import { createWriteStream, existsSync, renameSync, rmSync, statSync } from "node:fs";
import { createGzip } from "node:zlib";
import type { Writable } from "node:stream";
import { UserError } from "../core/failure.ts";
import type { Io } from "./verb.ts";

export interface OutputFile {
  write(text: string): Promise<void>;
  close(): Promise<void>;
}

/** `null` or `-` = standard output. A file appears under its name only when it is complete; `.gz` is compressed. */
export function openOutput(path: string | null, io: Io): OutputFile {
  if (path === null || path === "-") return { write: (text) => io.out(text), close: () => Promise.resolve() };
  // A device or a pipe is written to, never replaced by a file of its name.
  const special = isSpecial(path);
  const part = special ? path : `${path}.part`;
  let failed: NodeJS.ErrnoException | null = null;
  const file = createWriteStream(part);
  const gzip = path.endsWith(".gz") ? createGzip() : null;
  const sink: Writable = gzip ?? file;
  if (gzip !== null) gzip.pipe(file);
  file.on("error", (error) => {
    failed = error;
  });
  // One listener for the file's life: `once` in each write would add two and leave those of the loser behind.
  const closed = new Promise<void>((resolve) => {
    file.once("close", resolve);
  });
  const drained = (): Promise<void> =>
    new Promise((resolve) => {
      sink.once("drain", resolve);
    });
  const check = (): void => {
    if (failed === null) return;
    if (!special && existsSync(part)) rmSync(part, { force: true });
    throw new UserError(`${path}: cannot be written (${failed.code ?? failed.message})`);
  };
  return {
    async write(text) {
      check();
      if (!sink.write(text)) await Promise.race([drained(), closed]);
      check();
    },
    async close() {
      check();
      sink.end();
      await closed;
      check();
      if (!special) renameSync(part, path);
    },
  };
}

function isSpecial(path: string): boolean {
  try {
    return !statSync(path).isFile();
  } catch {
    // Nothing is there yet, or nothing can be: writing will tell.
    return false;
  }
}

const BATCH = 1000;

/** Lines joined a thousand at a time, each with its line feed: fewer, larger writes. */
export function* inBatches(lines: Iterable<string>): Generator<string> {
  let batch: string[] = [];
  for (const line of lines) {
    batch.push(`${line}\n`);
    if (batch.length < BATCH) continue;
    yield batch.join("");
    batch = [];
  }
  if (batch.length > 0) yield batch.join("");
}
