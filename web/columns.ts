/** Unpacks the columns that src/report/html/columns.ts packs. */
import type { ColumnDirectory, ColumnEntry } from "../src/report/html/columns.ts";

export class Columns {
  readonly #bytes: Uint8Array;
  readonly #directory: ColumnDirectory;
  readonly #numbers = new Map<string, Float64Array>();
  readonly #texts = new Map<string, readonly string[]>();

  constructor(bytes: Uint8Array, directory: ColumnDirectory) {
    this.#bytes = bytes;
    this.#directory = directory;
  }

  /** NaN = not measured. Unpacked when first asked for. */
  numbers(name: string): Float64Array {
    let values = this.#numbers.get(name);
    if (values === undefined) {
      values = unpack(this.#bytes, this.#entry(name));
      this.#numbers.set(name, values);
    }
    return values;
  }

  texts(name: string): readonly string[] {
    let values = this.#texts.get(name);
    if (values === undefined) {
      const { at, bytes } = this.#entry(name);
      values = JSON.parse(new TextDecoder().decode(this.#bytes.subarray(at, at + bytes))) as string[];
      this.#texts.set(name, values);
    }
    return values;
  }

  #entry(name: string): ColumnEntry {
    const entry = this.#directory[name];
    if (entry === undefined) throw new Error(`the page has no column ${name}`);
    return entry;
  }
}

function unpack(source: Uint8Array, { at, n, unit, kind }: ColumnEntry): Float64Array {
  const values = new Float64Array(n);
  // 1 µs in ms: dividing gives the nearest double, multiplying does not.
  const per = Math.round(1 / unit);
  let position = at;
  let before = 0;
  for (let i = 0; i < n; i++) {
    let code = 0;
    let scale = 1;
    for (;;) {
      const byte = source[position++] as number;
      if (byte < 128) {
        code += byte * scale;
        break;
      }
      code += (byte - 128) * scale;
      scale *= 128;
    }
    if (code === 0) {
      values[i] = NaN;
      continue;
    }
    const zigzag = code - 1;
    const step = zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
    const whole = kind === "delta" ? before + step : step;
    before = whole;
    values[i] = whole / per;
  }
  return values;
}
