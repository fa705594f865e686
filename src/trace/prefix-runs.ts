/** Stores of a {@link PrefixTrie}'s runs: numbers (block names, token ids) and text. */
import type { RunStore } from "./prefix-trie.ts";
import { TEXT_END, TextPool } from "./text-pool.ts";

/** Sequences of finite numbers. A place is a position in one pool. */
export class NumberRuns implements RunStore {
  #pool = new Float64Array(1 << 12);
  #used = 0;
  /** The sequence that is being added. */
  sequence: ArrayLike<number> = [];

  keyOf(at: number): number {
    return keyOfNumber(this.sequence[at] as number);
  }

  keyAt(place: number, symbol: number): number {
    return keyOfNumber(this.#pool[place + symbol] as number);
  }

  common(place: number, at: number, most: number): number {
    const pool = this.#pool;
    const { sequence } = this;
    let same = 0;
    while (same < most && pool[place + same] === sequence[at + same]) same++;
    return same;
  }

  keep(from: number, to: number): number {
    const place = this.#used;
    const end = place + to - from;
    if (end > this.#pool.length) {
      const next = new Float64Array(Math.max(end, this.#pool.length * 2));
      next.set(this.#pool);
      this.#pool = next;
    }
    for (let i = from, at = place; i < to; i++, at++) this.#pool[at] = this.sequence[i] as number;
    this.#used = end;
    return place;
  }

  further(place: number, by: number): number {
    return place + by;
  }

  clear(): void {
    this.#used = 0;
  }
}

function keyOfNumber(value: number): number {
  return (value | 0) ^ Math.imul((value / 0x100000000) | 0, 0x27d4eb2f);
}

/** Step of comparison of texts, bytes of UTF-8 as the pool has them: an escaped line feed is two. */
export const TEXT_STEP = 32;

/**
 * Texts of a {@link TextPool}, compared where they lie: a symbol is {@link TEXT_STEP} bytes, the last one of a text up to its
 * end. A place is one of the pool, within its page.
 */
export class TextRuns implements RunStore {
  readonly #pool: TextPool;
  /** The text that is being added. */
  text = 0;

  constructor(pool: TextPool) {
    this.#pool = pool;
  }

  keyOf(at: number): number {
    return this.keyAt(this.text, at);
  }

  keyAt(place: number, symbol: number): number {
    const page = this.#pool.pageOf(place);
    const from = this.#pool.offsetOf(place) + symbol * TEXT_STEP;
    let key = 0x811c9dc5;
    for (let at = from; at < from + TEXT_STEP && page[at] !== TEXT_END; at++)
      key = Math.imul(key ^ (page[at] as number), 0x01000193);
    return key;
  }

  common(place: number, at: number, most: number): number {
    const a = this.#pool.pageOf(place);
    const b = this.#pool.pageOf(this.text);
    let i = this.#pool.offsetOf(place);
    let j = this.#pool.offsetOf(this.text) + at * TEXT_STEP;
    for (let symbol = 0; symbol < most; symbol++) {
      for (let left = TEXT_STEP; left > 0; left--, i++, j++) {
        const byte = a[i];
        if (byte !== b[j]) return symbol;
        if (byte === TEXT_END) return symbol + 1;
      }
    }
    return most;
  }

  keep(from: number): number {
    return this.further(this.text, from);
  }

  further(place: number, by: number): number {
    return place + by * TEXT_STEP;
  }

  /** The pool is not its own. */
  clear(): void {}
}
