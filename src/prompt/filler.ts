/**
 * Endless streams of words by name. A stream is two head words, chosen by number so that streams differ from their first
 * token on, then phrases of a pool; the first n tokens of a stream are a prefix of its first n + 1.
 */
import type { Rng } from "../core/random.ts";
import { pickAt, type HashKey } from "./keyed-hash.ts";
import type { Lexicon, LexiconWord } from "./lexicon.ts";

const PHRASE_WORDS = 16;
const PHRASES = 2048;

/**
 * What a text is for. Each has head words of its own, so that a warm-up never equals a measured prompt, and text of one
 * request never begins as a shared block does.
 */
export type Purpose = "warmup" | "own" | "block";

/** A stream's name: `first` numbers it within its purpose, `key` makes all the rest. */
export interface StreamName {
  readonly purpose: Purpose;
  /** A whole number ≥ 0 (up to 2^53). */
  readonly first: number;
  readonly key: HashKey;
}

export class Filler {
  readonly #words: readonly LexiconWord[];
  readonly #heads: Readonly<Record<Purpose, readonly LexiconWord[]>>;
  readonly #phrases: readonly string[];
  readonly #phraseWords: readonly (readonly LexiconWord[])[];
  readonly separator: "" | " ";

  /** `rng` orders heads and makes the phrases: another seed, another text. */
  constructor(lexicon: Lexicon, rng: Rng) {
    this.separator = lexicon.separator;
    this.#words = lexicon.words;
    const heads = rng.fork("heads").shuffle(lexicon.heads.map((at) => lexicon.words[at] as LexiconWord));
    const warm = Math.max(1, Math.floor(heads.length / 16));
    const own = Math.max(2, Math.floor(heads.length / 4));
    this.#heads = {
      warmup: heads.slice(0, warm),
      own: heads.slice(warm, warm + own),
      block: heads.slice(warm + own),
    };
    const draw = rng.fork("phrases");
    this.#phraseWords = Array.from({ length: PHRASES }, () =>
      Array.from({ length: PHRASE_WORDS }, () => draw.pick(this.#words)),
    );
    this.#phrases = this.#phraseWords.map((words) => words.map((word) => word.piece).join(""));
  }

  /** How many streams of this purpose differ in their first token. */
  firstWords(purpose: Purpose): number {
    return this.#heads[purpose].length;
  }

  /** The first `tokens` tokens of a stream as text, separator in front. */
  text(name: StreamName, tokens: number): string {
    if (tokens <= 0) return "";
    let text = this.#head(name, 0).piece;
    if (tokens > 1) text += this.#head(name, 1).piece;
    let left = tokens - 2;
    for (let at = 0; left > 0; at++, left -= PHRASE_WORDS) {
      const phrase = pickAt(name.key, at, PHRASES);
      if (left >= PHRASE_WORDS) text += this.#phrases[phrase] as string;
      else {
        const words = this.#phraseWords[phrase] as readonly LexiconWord[];
        for (let word = 0; word < left; word++) text += (words[word] as LexiconWord).piece;
      }
    }
    return text;
  }

  /** The ids of {@link text}, appended to `ids`. */
  ids(name: StreamName, tokens: number, ids: number[]): void {
    if (tokens > 0) ids.push(this.#head(name, 0).id);
    if (tokens > 1) ids.push(this.#head(name, 1).id);
    let left = tokens - 2;
    for (let at = 0; left > 0; at++, left -= PHRASE_WORDS) {
      const words = this.#phraseWords[pickAt(name.key, at, PHRASES)] as readonly LexiconWord[];
      const stop = Math.min(left, PHRASE_WORDS);
      for (let word = 0; word < stop; word++) ids.push((words[word] as LexiconWord).id);
    }
  }

  #head(name: StreamName, position: 0 | 1): LexiconWord {
    const heads = this.#heads[name.purpose];
    const digit = position === 0 ? name.first : Math.floor(name.first / heads.length);
    return heads[digit % heads.length] as LexiconWord;
  }
}
