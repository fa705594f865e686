/** For tests: a zip archive in memory, written by hand after the format's description. */
import { crc32, deflateRawSync } from "node:zlib";

export interface WrittenEntry {
  readonly name: string;
  readonly text: string;
  readonly method?: "stored" | "deflate" | "zstd";
}

/** `wide` writes the directory with ZIP64 fields. */
export function zipOf(entries: readonly WrittenEntry[], wide = false): Buffer {
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const { name, text, method = "deflate" } of entries) {
    const bytes = Buffer.from(text);
    const packed =
      method === "stored" ? bytes : method === "deflate" ? deflateRawSync(bytes) : zstdRaw(bytes);
    const code = { stored: 0, deflate: 8, zstd: 93 }[method];
    const id = Buffer.from(name);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(code, 8);
    local.writeUInt16LE(id.length, 26);
    const extra = wide ? zip64Extra(bytes.length, packed.length, offset) : Buffer.alloc(0);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(code, 10);
    entry.writeUInt32LE(crc32(bytes), 16);
    entry.writeUInt32LE(wide ? 0xffffffff : packed.length, 20);
    entry.writeUInt32LE(wide ? 0xffffffff : bytes.length, 24);
    entry.writeUInt16LE(id.length, 28);
    entry.writeUInt16LE(extra.length, 30);
    entry.writeUInt32LE(wide ? 0xffffffff : offset, 42);
    locals.push(local, id, packed);
    central.push(entry, id, extra);
    offset += local.length + id.length + packed.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(wide ? 0xffff : entries.length, 10);
  end.writeUInt32LE(wide ? 0xffffffff : directory.length, 12);
  end.writeUInt32LE(wide ? 0xffffffff : offset, 16);
  const end64 = Buffer.alloc(wide ? 76 : 0);
  if (wide) {
    end64.writeUInt32LE(0x06064b50, 0);
    end64.writeBigUInt64LE(BigInt(entries.length), 32);
    end64.writeBigUInt64LE(BigInt(directory.length), 40);
    end64.writeBigUInt64LE(BigInt(offset), 48);
    end64.writeUInt32LE(0x07064b50, 56);
    end64.writeBigUInt64LE(BigInt(offset + directory.length), 64);
  }
  return Buffer.concat([...locals, directory, end64, end]);
}

function zip64Extra(size: number, packed: number, offset: number): Buffer {
  const extra = Buffer.alloc(28);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(24, 2);
  [size, packed, offset].forEach((value, at) => extra.writeBigUInt64LE(BigInt(value), 4 + at * 8));
  return extra;
}

/** A zstd frame of one uncompressed block. */
function zstdRaw(bytes: Buffer): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt32LE(0xfd2fb528, 0);
  head.writeUInt8(0xa0, 4); // one segment, its size in four bytes
  head.writeUInt32LE(bytes.length, 5);
  head.writeUIntLE((bytes.length << 3) | 1, 9, 3);
  return Buffer.concat([head, bytes]);
}
