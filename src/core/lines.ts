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
  for await (const block of readLineBlocks(path)) {
    const batch: Line[] = [];
    let start = 0;
    for (let end = block.indexOf(LF); end !== -1; end = block.indexOf(LF, start)) {
      batch.push({ number: ++number, text: lineText(path, block, start, end) });
      start = end + 1;
    }
    yield batch;
  }
}

/** Whole lines as bytes: every block ends with a line feed, which is added where the file ends without one. */
export async function* readLineBlocks(path: string): AsyncGenerator<Buffer> {
  // The start of a line whose end has not come; pieces are joined once, so that a long line costs linear time.
  let rest: Buffer[] = [];
  for await (const chunk of readBytes(path)) {
    let start = 0;
    if (rest.length > 0) {
      start = chunk.indexOf(LF) + 1;
      if (start === 0) {
        rest.push(chunk);
        continue;
      }
      yield Buffer.concat([...rest, chunk.subarray(0, start)]);
      rest = [];
    }
    const end = chunk.lastIndexOf(LF) + 1;
    if (end > start) yield chunk.subarray(start, end);
    if (Math.max(start, end) < chunk.length) rest.push(chunk.subarray(Math.max(start, end)));
  }
  if (rest.length > 0) yield Buffer.concat([...rest, Buffer.of(LF)]);
}

/** The text of the line bytes[from, to), without the CR before its end. */
export function lineText(path: string, bytes: Buffer, from: number, to: number): string {
  return decode(path, bytes, from, to > from && bytes[to - 1] === CR ? to - 1 : to);
}

function decode(path: string, bytes: Buffer, from = 0, to = bytes.length): string {
  try {
    return bytes.toString("utf8", from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_STRING_TOO_LONG") throw error;
    const name = path === "-" ? "standard input" : path;
    throw new UserError(`${name}: ${Math.round((to - from) / 2 ** 20)} MiB in one line or document`, {
      hint: "at most 512 MiB can be read as one; split it, or write one row a line",
      cause: error,
    });
  }
}

/** The whole text of a file, BOM dropped, gzip undone. */
export async function readText(path: string): Promise<string> {
  const parts: Buffer[] = [];
  for await (const chunk of readBytes(path)) parts.push(chunk);
  return decode(path, Buffer.concat(parts));
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
      for (let next = await iterator.next(); next.done !== true; next = await iterator.next())
        yield next.value;
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
  // A loop of links, a name too long, a device that is gone, an I/O error.
  if (typeof code === "string" && /^E[A-Z0-9]+$/.test(code))
    return new UserError(`${name}: cannot be read (${code})`, { cause: error });
  return error;
}
