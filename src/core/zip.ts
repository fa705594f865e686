/**
 * Entries of a zip archive, found by the central directory at its end (ZIP64 too), read one by one: an archive may be larger
 * than memory. Stored, deflate and zstd; checksums are held. No package does all three without loading the whole file.
 */
import { open, type FileHandle } from "node:fs/promises";
import { crc32, inflateRawSync } from "node:zlib";
import { Decompress } from "fzstd";
import { UserError } from "./failure.ts";

export interface ZipEntry {
  readonly name: string;
  readonly method: number;
  readonly crc: number;
  readonly packed: number;
  readonly size: number;
  /** Where its local header begins. */
  readonly offset: number;
}

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const END_BYTES = 22;
const MAX_COMMENT = 0xffff;
const MAX_ENTRY = 512 * 2 ** 20;

/** Whether a file begins like a zip archive. */
export async function isZip(path: string): Promise<boolean> {
  let file: FileHandle | null = null;
  try {
    file = await open(path, "r");
    const { bytesRead, buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
    return bytesRead === 4 && buffer.readUInt32LE(0) === LOCAL;
  } catch {
    return false;
  } finally {
    await file?.close();
  }
}

export class ZipArchive {
  /** In the directory's order; of entries of one name the last, which is the one in force. */
  readonly entries: ReadonlyMap<string, ZipEntry>;
  readonly #file: FileHandle;
  readonly #name: string;

  private constructor(file: FileHandle, name: string, entries: ReadonlyMap<string, ZipEntry>) {
    this.#file = file;
    this.#name = name;
    this.entries = entries;
  }

  /** `name` is how messages call the file. A damaged directory is a {@link UserError}. */
  static async open(path: string, name: string): Promise<ZipArchive> {
    const file = await open(path, "r");
    try {
      return new ZipArchive(file, name, await readDirectory(file, name));
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  /** The bytes of an entry. A damaged one is a {@link UserError}. */
  async read(entry: ZipEntry): Promise<Buffer> {
    const fail = (why: string): UserError => damaged(`${this.#name}: ${entry.name}`, why);
    if (entry.size > MAX_ENTRY)
      throw new UserError(
        `${this.#name}: ${entry.name}: ${Math.round(entry.size / 2 ** 20)} MiB in one entry`,
        {
          hint: "at most 512 MiB can be read as one",
        },
      );
    const { size } = await this.#file.stat();
    if (entry.offset + entry.packed > size) throw fail("the file ends inside it");
    const header = await readAt(this.#file, entry.offset, 30);
    if (header.length < 30 || header.readUInt32LE(0) !== LOCAL)
      throw fail("no entry where the directory says");
    const from = entry.offset + 30 + header.readUInt16LE(26) + header.readUInt16LE(28);
    const packed = await readAt(this.#file, from, entry.packed);
    if (packed.length < entry.packed) throw fail("the file ends inside it");
    const bytes = unpack(packed, entry, fail);
    if (bytes.length !== entry.size || crc32(bytes) !== entry.crc) throw fail("its checksum does not fit");
    return bytes;
  }
}

function unpack(packed: Buffer, { method, size }: ZipEntry, fail: (why: string) => UserError): Buffer {
  try {
    if (method === 0) return packed;
    if (method === 8) return inflateRawSync(packed, { maxOutputLength: Math.max(1, size) });
    if (method === 93) return unpackZstd(packed, size);
  } catch (error) {
    throw fail(error instanceof Error ? error.message : String(error));
  }
  throw fail(`compression method ${method} is not one of 0 (stored), 8 (deflate), 93 (zstd)`);
}

/** Of any number of frames; stops where more comes out than the directory says. */
function unpackZstd(packed: Buffer, size: number): Buffer {
  const parts: Uint8Array[] = [];
  let total = 0;
  const stream = new Decompress((part) => {
    total += part.length;
    if (total > size) throw new Error("more bytes than its directory says");
    parts.push(part.slice());
  });
  stream.push(packed, true);
  return Buffer.concat(parts);
}

async function readDirectory(file: FileHandle, name: string): Promise<Map<string, ZipEntry>> {
  const { size } = await file.stat();
  const from = Math.max(0, size - END_BYTES - MAX_COMMENT);
  const tail = await readAt(file, from, size - from);
  let end = tail.length - END_BYTES;
  while (end >= 0 && tail.readUInt32LE(end) !== END) end--;
  if (end < 0) throw damaged(name, "it has no directory at its end: the file is cut");
  let count = tail.readUInt16LE(end + 10);
  let bytes = tail.readUInt32LE(end + 12);
  let offset = tail.readUInt32LE(end + 16);
  if (count === 0xffff || bytes === 0xffffffff || offset === 0xffffffff) {
    const locator = end >= 20 ? tail.subarray(end - 20, end) : Buffer.alloc(20);
    if (locator.readUInt32LE(0) === LOCATOR_64) {
      const end64 = await readAt(file, Number(locator.readBigUInt64LE(8)), 56);
      if (end64.length < 56 || end64.readUInt32LE(0) !== END_64) throw damaged(name, "no ZIP64 directory");
      count = Number(end64.readBigUInt64LE(32));
      bytes = Number(end64.readBigUInt64LE(40));
      offset = Number(end64.readBigUInt64LE(48));
    }
  }
  const directory = offset + bytes <= size ? await readAt(file, offset, bytes) : Buffer.alloc(0);
  const entries = new Map<string, ZipEntry>();
  let at = 0;
  for (let read = 0; read < count; read++) {
    if (at + 46 > directory.length || directory.readUInt32LE(at) !== CENTRAL)
      throw damaged(name, `its directory ends after ${read} of ${count} entries`);
    const next =
      at +
      46 +
      directory.readUInt16LE(at + 28) +
      directory.readUInt16LE(at + 30) +
      directory.readUInt16LE(at + 32);
    const entry = directoryEntry(directory.subarray(at, next));
    if ((directory.readUInt16LE(at + 8) & 1) === 1) throw damaged(name, `${entry.name} is encrypted`);
    entries.delete(entry.name);
    entries.set(entry.name, entry);
    at = next;
  }
  return entries;
}

function directoryEntry(raw: Buffer): ZipEntry {
  const nameEnd = 46 + raw.readUInt16LE(28);
  const extra = raw.subarray(nameEnd, nameEnd + raw.readUInt16LE(30));
  // Sizes that do not fit 32 bits stand in an extra field, in this order, and only those that do not fit.
  let wide = Buffer.alloc(0);
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2))
    if (extra.readUInt16LE(at) === 1)
      wide = Buffer.from(extra.subarray(at + 4, at + 4 + extra.readUInt16LE(at + 2)));
  const field = (value: number): number => {
    if (value !== 0xffffffff || wide.length < 8) return value;
    const told = Number(wide.readBigUInt64LE(0));
    wide = wide.subarray(8);
    return told;
  };
  const size = field(raw.readUInt32LE(24));
  const packed = field(raw.readUInt32LE(20));
  return {
    name: raw.toString("utf8", 46, nameEnd),
    method: raw.readUInt16LE(10),
    crc: raw.readUInt32LE(16),
    packed,
    size,
    offset: field(raw.readUInt32LE(42)),
  };
}

async function readAt(file: FileHandle, from: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.alloc(bytes);
  let filled = 0;
  while (filled < bytes) {
    const { bytesRead } = await file.read(buffer, filled, bytes - filled, from + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

function damaged(name: string, why: string): UserError {
  return new UserError(`${name}: damaged zip archive (${why})`);
}
