/** Asks a tokenizer, in few and long texts, which words are one token and which of them merge with a neighbour. */
import type { LexiconWord } from "./lexicon.ts";
import { isSyncTokenizer, type Tokenizer } from "./tokenizer.ts";

const ANCHORS = { " ": ["the", "time", "people", "work"], "": ["a", "e", "x", "0"] } as const;
const MORE_ANCHORS = 16;
/** Words in one text to encode: long enough to need few calls; for a server, well within any context length. */
const CHUNK = { sync: 2000, async: 600 } as const;
/** Requests to a server at a time. */
const AT_ONCE = 8;

export class LexiconProbe {
  readonly #tokenizer: Tokenizer;
  readonly #separator: " " | "";
  readonly #anchor: string;
  readonly #anchorId: number;
  readonly #parallel: number;
  /** Words in one text. */
  readonly chunk: number;

  private constructor(tokenizer: Tokenizer, separator: " " | "", anchor: string, anchorId: number) {
    this.#tokenizer = tokenizer;
    this.#separator = separator;
    this.#anchor = anchor;
    this.#anchorId = anchorId;
    const sync = isSyncTokenizer(tokenizer);
    this.#parallel = sync ? 1 : AT_ONCE;
    this.chunk = sync ? CHUNK.sync : CHUNK.async;
  }

  /**
   * Looks for a word that is one token however often it is repeated, among a few common ones and some of `words`; `null`
   * where there is none.
   */
  static async create(
    tokenizer: Tokenizer,
    separator: " " | "",
    words: readonly string[] = [],
  ): Promise<LexiconProbe | null> {
    const step = Math.max(1, Math.floor(words.length / MORE_ANCHORS));
    const more = words.filter((_, at) => at % step === 0).slice(0, MORE_ANCHORS);
    for (const anchor of [...ANCHORS[separator], ...more]) {
      const ids = await tokenizer.encode(Array.from({ length: 9 }, () => anchor).join(separator));
      const id = ids[4];
      if (id !== undefined && ids.length === 9 && ids.slice(1).every((other) => other === id))
        return new LexiconProbe(tokenizer, separator, anchor, id);
    }
    return null;
  }

  /** Which of `words` are one token inside a text. Words that share a token (an unknown one) are none. */
  async findSingles(words: readonly string[]): Promise<LexiconWord[]> {
    const found: LexiconWord[] = [];
    await this.#each(chunksOf(words, this.chunk / 2), async (chunk) => {
      found.push(...(await this.#singles(chunk)));
    });
    const uses = new Map<number, number>([[this.#anchorId, 1]]);
    for (const word of found) uses.set(word.id, (uses.get(word.id) ?? 0) + 1);
    // Chunks may end in any order; the lexicon must not depend on it.
    const order = new Map(words.map((word, at) => [this.#separator + word, at]));
    return found
      .filter((word) => uses.get(word.id) === 1)
      .sort((x, y) => (order.get(x.piece) ?? 0) - (order.get(y.piece) ?? 0));
  }

  /** Each word stands between two anchors: what lies between the anchors' tokens is the word's. */
  async #singles(words: readonly string[]): Promise<LexiconWord[]> {
    const sep = this.#separator;
    const ids = await this.#tokenizer.encode(
      this.#anchor + words.map((word) => sep + word + sep + this.#anchor).join(""),
    );
    const between: number[][] = [];
    let current: number[] = [];
    for (const id of ids.slice(1)) {
      if (id === this.#anchorId) {
        between.push(current);
        current = [];
      } else current.push(id);
    }
    if (between.length === words.length && current.length === 0) {
      return words.flatMap((word, at) => {
        const own = between[at] as number[];
        return own.length === 1 ? [{ piece: sep + word, id: own[0] as number }] : [];
      });
    }
    // Some word swallowed an anchor (or is one): halve until it is alone.
    if (words.length === 1) return [];
    const half = Math.ceil(words.length / 2);
    return [...(await this.#singles(words.slice(0, half))), ...(await this.#singles(words.slice(half)))];
  }

  /** Positions (up to `limit`) of words that are one token at the start of a text, whatever word follows. */
  async findHeads(words: readonly LexiconWord[], limit: number): Promise<number[]> {
    const heads: number[] = [];
    const sep = this.#separator;
    const positions = words.map((_, at) => at).slice(0, limit);
    await this.#each(positions, async (at) => {
      const bare = (words[at] as LexiconWord).piece.slice(sep.length);
      const followers = [words[(at * 7 + 1) % words.length], words[(at * 13 + 5) % words.length]];
      const alone = await this.#tokenizer.encode(bare);
      if (alone.length !== 1) return;
      const text = bare + followers.map((word) => (word as LexiconWord).piece).join("");
      const ids = await this.#tokenizer.encode(text);
      if (
        ids.length === 3 &&
        ids[0] === alone[0] &&
        followers.every((word, i) => ids[i + 1] === (word as LexiconWord).id)
      )
        heads.push(at);
    });
    return heads.sort((x, y) => x - y);
  }

  /** Whether a text of these words has exactly their tokens. */
  async holds(words: readonly LexiconWord[]): Promise<boolean> {
    const ids = await this.#tokenizer.encode(this.#anchor + words.map((word) => word.piece).join(""));
    return ids.length === words.length + 1 && words.every((word, at) => ids[at + 1] === word.id);
  }

  async each<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
    await this.#each(items, run);
  }

  async #each<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
    for (let at = 0; at < items.length; at += this.#parallel)
      await Promise.all(items.slice(at, at + this.#parallel).map(run));
  }
}

/**
 * The ordered pairs of `words` that do not add up, as positions; `null` once there are more than `limit`. Encodes a circuit
 * in which every pair (a word after itself, too) occurs exactly once.
 */
export async function findBadPairs(
  probe: LexiconProbe,
  words: readonly LexiconWord[],
  limit: number,
): Promise<[number, number][] | null> {
  const circuit: number[] = [];
  for (let i = 0; i < words.length; i++) {
    circuit.push(i);
    for (let j = i + 1; j < words.length; j++) circuit.push(i, j);
  }
  circuit.push(0);
  const bad: [number, number][] = [];
  const search = async (part: readonly number[]): Promise<void> => {
    if (bad.length > limit) return;
    if (await probe.holds(part.map((at) => words[at] as LexiconWord))) return;
    if (part.length <= 2) {
      bad.push([part[0] as number, (part[1] ?? part[0]) as number]);
      return;
    }
    const half = Math.floor(part.length / 2);
    const left = part.slice(0, half + 1);
    const right = part.slice(half);
    const before = bad.length;
    await search(left);
    await search(right);
    // Both halves are good, the whole is not: three words or more merge where the halves meet.
    if (bad.length === before && bad.length <= limit)
      bad.push([part[half - 1] as number, part[half] as number]);
  };
  const chunks: number[][] = [];
  for (let at = 0; at < circuit.length - 1; at += probe.chunk)
    chunks.push(circuit.slice(at, at + probe.chunk + 1));
  await probe.each(chunks, search);
  return bad.length > limit ? null : bad;
}

/** Words at fault in a long text: empty when all of it adds up. */
export async function checkSequences(
  probe: LexiconProbe,
  text: readonly LexiconWord[],
): Promise<LexiconWord[]> {
  const bad: LexiconWord[] = [];
  const search = async (part: readonly LexiconWord[]): Promise<void> => {
    if (bad.length > 64 || (await probe.holds(part))) return;
    if (part.length <= 2) {
      bad.push(part[part.length - 1] as LexiconWord);
      return;
    }
    const half = Math.floor(part.length / 2);
    const before = bad.length;
    await search(part.slice(0, half + 1));
    await search(part.slice(half));
    if (bad.length === before) bad.push(part[half] as LexiconWord);
  };
  await probe.each(chunksOf(text, probe.chunk), search);
  return bad;
}

function chunksOf<T>(items: readonly T[], size: number): T[][] {
  const out: T[][] = [];
  for (let at = 0; at < items.length; at += size) out.push(items.slice(at, at + size));
  return out;
}
