/**
 * Columns of numbers as bytes. Times are whole microseconds, as in the log; a column is a row of varints (7 bits a byte, low ones
 * first), 0 for "not measured", else zigzag + 1. `delta` columns hold differences to the value before. Unpacked by web/columns.ts.
 */
import { gzip } from "node:zlib";
import { promisify } from "node:util";

export interface ColumnEntry {
  /** First byte, and number of bytes. */
  readonly at: number;
  readonly bytes: number;
  readonly kind: "plain" | "delta" | "text";
  readonly n: number;
  /** Value of one unit. */
  readonly unit: number;
}

export type ColumnDirectory = Readonly<Record<string, ColumnEntry>>;

/** A difference of two still fits into a varint of 8 bytes. */
const LARGEST = 2 ** 51;

/** 1 µs in ms. */
export const MICROSECOND = 0.001;

export class ColumnWriter {
  readonly #directory: Record<string, ColumnEntry> = {};
  readonly #parts: Uint8Array[] = [];
  #length = 0;

  get directory(): ColumnDirectory {
    return this.#directory;
  }

  get length(): number {
    return this.#length;
  }

  /** NaN = not measured. `unit` is the value of 1. */
  numbers(name: string, values: ArrayLike<number>, unit = 1, kind: "plain" | "delta" = "plain"): void {
    let bytes = new Uint8Array(Math.max(16, values.length * 2));
    let used = 0;
    let before = 0;
    for (let i = 0; i < values.length; i++) {
      if (used + 10 > bytes.length) {
        const larger = new Uint8Array(bytes.length * 2);
        larger.set(bytes);
        bytes = larger;
      }
      const value = values[i] as number;
      const whole = Math.round(value / unit);
      // Beyond exact whole numbers lies only what a damaged log holds.
      if (!(Math.abs(whole) <= LARGEST)) {
        bytes[used++] = 0;
        continue;
      }
      const step = kind === "delta" ? whole - before : whole;
      before = whole;
      let code = (step >= 0 ? step * 2 : -step * 2 - 1) + 1;
      while (code >= 128) {
        bytes[used++] = 128 + (code % 128);
        code = Math.floor(code / 128);
      }
      bytes[used++] = code;
    }
    this.#add(name, bytes.slice(0, used), { kind, n: values.length, unit });
  }

  /** Strings, as a JSON array. */
  text(name: string, values: readonly string[]): void {
    const bytes = Buffer.from(JSON.stringify(values));
    this.#add(name, bytes, { kind: "text", n: values.length, unit: 1 });
  }

  #add(name: string, bytes: Uint8Array, entry: Omit<ColumnEntry, "at" | "bytes">): void {
    this.#directory[name] = { at: this.#length, bytes: bytes.length, ...entry };
    this.#parts.push(bytes);
    this.#length += bytes.length;
  }

  /** All columns, gzipped, as base64 in pieces that a page can take one by one. */
  async packed(piece = 600_000): Promise<string[]> {
    const bytes = await promisify(gzip)(Buffer.concat(this.#parts), { level: 6 });
    const pieces: string[] = [];
    // A multiple of 3, so that every piece is base64 of its own.
    for (let at = 0; at < bytes.length; at += piece)
      pieces.push(bytes.subarray(at, at + piece).toString("base64"));
    return pieces;
  }
}
