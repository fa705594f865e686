/**
 * Numbered texts (request ids, job ids), held as their bytes: a million ids are a few buffers, not a million strings. An
 * open-addressing table of 32-bit hashes finds a text's number; bytes are compared only where hashes agree.
 */
import { unicodeEscape } from "../core/terminal-text.ts";

export class NumberedTexts {
  #bytes: Buffer = Buffer.allocUnsafeSlow(1 << 12);
  /** Where each text ends in `#bytes`; it begins where the one before ends. */
  #ends: Float64Array = new Float64Array(1 << 8);
  #hashes: Int32Array = new Int32Array(1 << 8);
  #size = 0;
  /** Slots hold number + 1; 0 = empty. */
  #slots: Int32Array = new Int32Array(1 << 10);
  #mask = (1 << 10) - 1;
  #repeated: string | null = null;

  get size(): number {
    return this.#size;
  }

  /** The number of the text bytes[from, to) (UTF-8), which is added (as number {@link size}) where it is not there. */
  intern(bytes: Uint8Array, from: number, to: number): number {
    const hash = hashOf(bytes, from, to);
    const at = this.#slot(bytes, from, to, hash);
    const known = this.#slots[at] as number;
    if (known !== 0) return known - 1;
    const number = this.#append(bytes, from, to, hash);
    this.#slots[at] = number + 1;
    if (this.#size * 2 > this.#mask) this.#rehash();
    return number;
  }

  /** The number of the text, or −1. */
  find(bytes: Uint8Array, from: number, to: number): number {
    return (this.#slots[this.#slot(bytes, from, to, hashOf(bytes, from, to))] as number) - 1;
  }

  /** Where the text's slot is, or the empty one where it would be. */
  #slot(bytes: Uint8Array, from: number, to: number, hash: number): number {
    let at = hash & this.#mask;
    for (let slot = this.#slots[at] as number; slot !== 0; slot = this.#slots[at] as number) {
      if (this.#hashes[slot - 1] === hash && this.#equals(slot - 1, bytes, from, to)) return at;
      at = (at + 1) & this.#mask;
    }
    return at;
  }

  /** {@link intern} for a string. */
  internText(text: string): number {
    const bytes = encode(text);
    return this.intern(bytes, 0, bytes.length);
  }

  /** Adds the text under a number of its own, also where it is there already. */
  appendText(text: string): number {
    const size = this.#size;
    const bytes = encode(text);
    const number = this.intern(bytes, 0, bytes.length);
    if (number === size) return number;
    this.#repeated ??= text;
    return this.#append(bytes, 0, bytes.length, 0);
  }

  /** The first text that {@link appendText} found there already. */
  firstRepeated(): string | null {
    return this.#repeated;
  }

  text(number: number): string {
    const from = this.#start(number);
    const to = this.#ends[number] as number;
    if (this.#bytes[from] === ESCAPED && to > from)
      return JSON.parse(this.#bytes.toString("latin1", from + 1, to)) as string;
    return this.#bytes.toString("utf8", from, to);
  }

  /** Whether text `number` is bytes[from, to). */
  equals(number: number, bytes: Uint8Array, from: number, to: number): boolean {
    return number < this.#size && this.#equals(number, bytes, from, to);
  }

  #equals(number: number, bytes: Uint8Array, from: number, to: number): boolean {
    const start = this.#start(number);
    if ((this.#ends[number] as number) - start !== to - from) return false;
    const own = this.#bytes;
    for (let i = from, at = start; i < to; i++, at++) if (own[at] !== bytes[i]) return false;
    return true;
  }

  #start(number: number): number {
    return number === 0 ? 0 : (this.#ends[number - 1] as number);
  }

  #append(bytes: Uint8Array, from: number, to: number, hash: number): number {
    const number = this.#size;
    if (number === this.#ends.length) {
      this.#ends = larger(this.#ends, new Float64Array(number * 2));
      this.#hashes = larger(this.#hashes, new Int32Array(number * 2));
    }
    const start = this.#start(number);
    const end = start + to - from;
    if (end > this.#bytes.length)
      this.#bytes = larger(this.#bytes, Buffer.allocUnsafeSlow(Math.max(end, this.#bytes.length * 2)));
    const own = this.#bytes;
    for (let i = from, at = start; i < to; i++, at++) own[at] = bytes[i] as number;
    this.#ends[number] = end;
    this.#hashes[number] = hash;
    this.#size++;
    return number;
  }

  #rehash(): void {
    const slots = new Int32Array(this.#slots.length * 2);
    const mask = slots.length - 1;
    for (const slot of this.#slots) {
      if (slot === 0) continue;
      let at = (this.#hashes[slot - 1] as number) & mask;
      while (slots[at] !== 0) at = (at + 1) & mask;
      slots[at] = slot;
    }
    this.#slots = slots;
    this.#mask = mask;
  }
}

/** Marks a text that UTF-8 cannot hold (a lone surrogate), or that begins with this mark: its JSON follows, in ASCII. */
const ESCAPED = 0;

function encode(text: string): Buffer {
  if (text.charCodeAt(0) !== ESCAPED && isWellFormed(text)) return Buffer.from(text, "utf8");
  const json = JSON.stringify(text).replace(/[\u007f-\uffff]/g, unicodeEscape);
  return Buffer.from(`\0${json}`, "latin1");
}

function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

function larger<A extends Uint8Array | Float64Array | Int32Array>(old: A, next: A): A {
  next.set(old as never);
  return next;
}

function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = 0x811c9dc5;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}
