/**
 * Prompt texts outside the collected heap: as UTF-8 between the quotes of a JSON string, in pages. Equal texts are equal
 * bytes (escapes are those that `JSON.stringify` writes).
 */
const PAGE_BYTES = 1 << 22;
/** A place is page × this + offset in the page. */
const PAGE_STEP = 2 ** 31;
const LENGTH_BYTES = 4;
const BACKSLASH = 0x5c;
/** Stands after every text; no text holds it. */
export const TEXT_END = 0;

export class TextPool {
  readonly #pages: Buffer[] = [];
  #used = 0;

  /** Keeps a copy of bytes[from, to); returns its place. */
  add(bytes: Uint8Array, from: number, to: number): number {
    const length = to - from;
    const size = LENGTH_BYTES + length + 1;
    let page = this.#pages.at(-1);
    if (page === undefined || this.#used + size > page.length) {
      page = Buffer.allocUnsafeSlow(Math.max(PAGE_BYTES, size));
      this.#pages.push(page);
      this.#used = 0;
    }
    const at = this.#used + LENGTH_BYTES;
    page.writeUInt32LE(length, this.#used);
    page.set(bytes.subarray(from, to), at);
    page[at + length] = TEXT_END;
    this.#used += size;
    return (this.#pages.length - 1) * PAGE_STEP + at;
  }

  addText(text: string): number {
    const json = Buffer.from(JSON.stringify(text));
    return this.add(json, 1, json.length - 1);
  }

  pageOf(place: number): Buffer {
    return this.#pages[Math.floor(place / PAGE_STEP)] as Buffer;
  }

  /** Where in its page a place is: {@link TEXT_END} ends the text that begins there. */
  offsetOf(place: number): number {
    return place % PAGE_STEP;
  }

  /** Bytes of the text at `place` (as `add` gave it). */
  bytes(place: number): number {
    return this.pageOf(place).readUInt32LE(this.offsetOf(place) - LENGTH_BYTES);
  }

  text(place: number): string {
    const page = this.pageOf(place);
    const from = this.offsetOf(place);
    const to = from + this.bytes(place);
    const json = page.toString("utf8", from, to);
    return page.subarray(from, to).includes(BACKSLASH) ? (JSON.parse(`"${json}"`) as string) : json;
  }
}
