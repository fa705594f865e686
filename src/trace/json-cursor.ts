/**
 * Reads the plain parts of JSON straight from bytes: the fast path of large traces. It knows less than `JSON.parse` on
 * purpose: what it does not know (escapes, exponents, numbers of more than 15 digits, ...) sets {@link JsonCursor.lost},
 * and the row is parsed in the ordinary way. Bytes end with a line feed.
 */
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** What a byte inside a string is: it stands for itself as ASCII, or as part of UTF-8, or ends the string or the fast path. */
const OTHER = 0;
const ASCII = 1;
const UTF8 = 2;
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 0x80) return UTF8;
  return byte < 0x20 || byte === QUOTE || byte === BACKSLASH ? OTHER : ASCII;
});
const MAX_DIGITS = 15;
const POWERS = Array.from({ length: MAX_DIGITS + 1 }, (_, digits) => 10 ** digits);

export class JsonCursor {
  bytes: Buffer = Buffer.alloc(0);
  at = 0;
  /** Something came that is not known here. */
  lost = false;
  /** Where the last string began and ended, between its quotes. */
  from = 0;
  to = 0;

  /** The buffer that holds `bytes`, four bytes a word. */
  #words: Int32Array = new Int32Array(0);

  start(bytes: Buffer, at: number): void {
    if (bytes.buffer !== this.bytes.buffer)
      this.#words = new Int32Array(bytes.buffer, 0, bytes.buffer.byteLength >>> 2);
    this.bytes = bytes;
    this.at = at;
    this.lost = false;
  }

  /** Skips white space; whether `code` comes next (and steps over it). */
  take(code: number): boolean {
    this.space();
    if (this.bytes[this.at] !== code) return false;
    this.at++;
    return true;
  }

  space(): void {
    const { bytes } = this;
    let at = this.at;
    while (bytes[at] === 0x20 || bytes[at] === 0x09 || bytes[at] === 0x0d) at++;
    this.at = at;
  }

  /** A name or an id: printable ASCII without escapes, its place in `from` and `to`. Called at the quote. */
  name(): void {
    if (!this.#opens()) return;
    const { bytes } = this;
    let at = this.from;
    while (PLAIN[bytes[at] as number] === ASCII) at++;
    this.#ends(at);
  }

  /** A text, with the escapes that `JSON.stringify` writes and any UTF-8. Called at the quote. */
  text(): void {
    if (!this.#opens()) return;
    const { bytes } = this;
    let at = this.#plainTo(this.from);
    while (bytes[at] === BACKSLASH && isShortEscape(bytes[at + 1])) at = this.#plainTo(at + 2);
    this.#ends(at);
  }

  /** The first byte from `at` on that does not stand for itself: four at a time, as the words of the buffer that holds them. */
  #plainTo(at: number): number {
    const { bytes } = this;
    const words = this.#words;
    const base = bytes.byteOffset;
    let to = at;
    while (PLAIN[bytes[to] as number] !== OTHER) {
      if (((base + to) & 3) !== 0) {
        to++;
        continue;
      }
      let word = (base + to) >>> 2;
      while (isPlain(words[word] as number)) word++;
      to = word * 4 - base;
      while (PLAIN[bytes[to] as number] !== OTHER) to++;
    }
    return to;
  }

  /** Whether a quote stands here; the string then begins at `from`. */
  #opens(): boolean {
    this.from = this.at + 1;
    if (this.bytes[this.at] === QUOTE) return true;
    this.lost = true;
    return false;
  }

  /** Ends the string at `at`, where its other quote must stand. */
  #ends(at: number): void {
    if (this.bytes[at] !== QUOTE) this.lost = true;
    this.to = at;
    this.at = at + 1;
  }

  /** A number ≥ 0 of at most 15 digits, exactly as `JSON.parse` reads it; NaN for `null`. */
  number(): number {
    const { bytes } = this;
    let at = this.at;
    const from = at;
    let value = 0;
    let code = bytes[at] as number;
    while (code >= 0x30 && code <= 0x39) {
      value = value * 10 + (code - 0x30);
      code = bytes[++at] as number;
    }
    let digits = at - from;
    if (digits === 0 || (digits > 1 && bytes[from] === 0x30)) return this.#null();
    if (code === 0x2e) {
      const point = at;
      code = bytes[++at] as number;
      while (code >= 0x30 && code <= 0x39) {
        value = value * 10 + (code - 0x30);
        code = bytes[++at] as number;
      }
      const decimals = at - point - 1;
      digits += decimals;
      if (decimals === 0 || digits > MAX_DIGITS) this.lost = true;
      // Both are exact doubles, so that the quotient is the double nearest to what is written.
      else value /= POWERS[decimals] as number;
    }
    if (digits > MAX_DIGITS || code === 0x65 || code === 0x45) this.lost = true;
    this.at = at;
    return value;
  }

  /**
   * Integers in brackets, each in [0, 2^31), into `into`, which grows as needed; returns how many. Called at the bracket.
   */
  integers(into: { list: Int32Array }): number {
    if (!this.take(0x5b)) {
      this.lost = true;
      return 0;
    }
    if (this.take(0x5d)) return 0;
    const { bytes } = this;
    let { list } = into;
    let count = 0;
    let at = this.at;
    for (;;) {
      let code = bytes[at] as number;
      while (code === 0x20) code = bytes[++at] as number;
      const from = at;
      let value = 0;
      while (code >= 0x30 && code <= 0x39) {
        value = value * 10 + (code - 0x30);
        code = bytes[++at] as number;
      }
      const digits = at - from;
      if (digits === 0 || value > 0x7fffffff || digits > MAX_DIGITS || (digits > 1 && bytes[from] === 0x30))
        break;
      if (count === list.length) {
        const next = new Int32Array(count * 2);
        next.set(list);
        list = into.list = next;
      }
      list[count++] = value;
      while (code === 0x20) code = bytes[++at] as number;
      at++;
      if (code === 0x2c) continue;
      if (code !== 0x5d) break;
      this.at = at;
      return count;
    }
    this.lost = true;
    return count;
  }

  /** Steps over `null` where it comes next; whether it did. */
  isNull(): boolean {
    const { bytes, at } = this;
    if (bytes[at] !== 0x6e || bytes[at + 1] !== 0x75 || bytes[at + 2] !== 0x6c || bytes[at + 3] !== 0x6c)
      return false;
    this.at = at + 4;
    return true;
  }

  #null(): number {
    if (!this.isNull()) this.lost = true;
    return NaN;
  }
}

/** Whether none of a word's four bytes is a quote, a backslash or below 0x20. A line feed ends every block, so that a word is not. */
function isPlain(word: number): boolean {
  const quote = word ^ 0x22222222;
  const backslash = word ^ 0x5c5c5c5c;
  return (
    ((((word - 0x20202020) & ~word) |
      ((quote - 0x01010101) & ~quote) |
      ((backslash - 0x01010101) & ~backslash)) &
      0x80808080) ===
    0
  );
}

/**
 * `"`, `\`, b, f, n, r, t. The other escapes can be written in two ways: the same text would be different bytes.
 */
function isShortEscape(code: number | undefined): boolean {
  return (
    code === QUOTE ||
    code === BACKSLASH ||
    code === 0x62 ||
    code === 0x66 ||
    code === 0x6e ||
    code === 0x72 ||
    code === 0x74
  );
}
