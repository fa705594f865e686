/**
 * Lines of a file, as bytes say: only LF (with an optional CR before it) ends a line, never U+2028 or a lone CR. A BOM
 * at the very start is dropped; gzip is recognised by its first two bytes, whatever the name; `-` is stdin.
 */
import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { UserError } from "./failure.ts";

export interface Line {
  /** 1-based, blank lines counted. */
  readonly number: number;
  readonly text: string;
}

const LF = 10;
const CR = 13;

/** Batches of lines (for speed: one `await` per read, not per line). Blank lines are kept; callers skip them. */
export async function* readLineBatches(path: string): AsyncGenerator<Line[]> {
  let number = 0;
  let rest: Buffer | null = null;
  for await (const chunk of readBytes(path)) {
    const bytes: Buffer = rest === null ? chunk : Buffer.concat([rest, chunk]);
    const batch: Line[] = [];
    let start = 0;
    // A long line that spans many reads is searched once: only the new bytes are scanned.
    let from = rest === null ? 0 : rest.length;
    for (let end = bytes.indexOf(LF, from); end !== -1; end = bytes.indexOf(LF, from)) {
      const stop = end > start && bytes[end - 1] === CR ? end - 1 : end;
      batch.push({ number: ++number, text: bytes.toString("utf8", start, stop) });
      start = end + 1;
      from = start;
    }
    rest = start < bytes.length ? bytes.subarray(start) : null;
    if (batch.length > 0) yield batch;
  }
  if (rest !== null) {
    const stop = rest[rest.length - 1] === CR ? rest.length - 1 : rest.length;
    yield [{ number: ++number, text: rest.toString("utf8", 0, stop) }];
  }
}

/** The whole text of a file, BOM dropped, gzip undone. */
export async function readText(path: string): Promise<string> {
  const parts: Buffer[] = [];
  for await (const chunk of readBytes(path)) parts.push(chunk);
  return Buffer.concat(parts).toString("utf8");
}

/** Bytes of a file or stdin (`-`), gzip undone, BOM dropped. A file that cannot be read is a {@link UserError}. */
export async function* readBytes(path: string): AsyncGenerator<Buffer> {
  const source: Readable = path === "-" ? process.stdin : createReadStream(path, { highWaterMark: 1 << 20 });
  let first = true;
  try {
    for await (const chunk of await ungzip(source)) {
      let bytes = chunk as Buffer;
      if (first) {
        first = false;
        if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) bytes = bytes.subarray(3);
      }
      if (bytes.length > 0) yield bytes;
    }
  } catch (error) {
    throw readError(path, error);
  }
}

async function ungzip(source: Readable): Promise<AsyncIterable<unknown>> {
  const iterator = source[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  // Enough bytes to tell a gzip header and a BOM, even from a pipe that hands out single bytes.
  let head = Buffer.alloc(0);
  let ended = false;
  while (head.length < 3 && !ended) {
    const next = await iterator.next();
    if (next.done === true) ended = true;
    else head = Buffer.concat([head, next.value]);
  }
  async function* all(): AsyncGenerator<Buffer> {
    try {
      if (head.length > 0) yield head;
      if (ended) return;
      for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value;
    } finally {
      // A reader that stops early (detection) must not leave the file open.
      await iterator.return?.();
    }
  }
  if (head[0] !== 0x1f || head[1] !== 0x8b) return all();
  const gunzip = createGunzip();
  const { Readable: ReadableClass } = await import("node:stream");
  const input = ReadableClass.from(all());
  input.on("error", (error) => gunzip.destroy(error));
  return input.pipe(gunzip);
}

function readError(path: string, error: unknown): unknown {
  if (error instanceof UserError) return error;
  const code = (error as NodeJS.ErrnoException).code;
  const name = path === "-" ? "standard input" : path;
  if (code === "ENOENT") return new UserError(`${name}: no such file`, { cause: error });
  if (code === "EISDIR") return new UserError(`${name}: is a folder`, { cause: error });
  if (code === "EACCES") return new UserError(`${name}: permission denied`, { cause: error });
  if (typeof code === "string" && (code.startsWith("Z_") || code === "ERR_TRAILING_JUNK_AFTER_STREAM_END"))
    return new UserError(`${name}: damaged gzip file (${(error as Error).message})`, { cause: error });
  return error;
}
