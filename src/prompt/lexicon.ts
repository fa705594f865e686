/**
 * The words that made-up prompts are written with: each is exactly one token wherever it stands, so a text of n of them
 * has exactly n tokens, and its tokens are the same whatever follows. Which words these are depends on the tokenizer and
 * is found by asking it; `docs/prompts.md` tells how.
 */
import { createRng, type Rng } from "../core/random.ts";
import { loadBuiltinTokenizer } from "./builtin-tokenizer.ts";
import { checkSequences, findBadPairs, LexiconProbe } from "./lexicon-probe.ts";
import { isSyncTokenizer, type Tokenizer } from "./tokenizer.ts";

export interface LexiconWord {
  /** As it stands inside a text, separator included. */
  readonly piece: string;
  /** Its token inside a text. */
  readonly id: number;
}

/** Plain data: another thread can be given it instead of finding it again. */
export interface Lexicon {
  /** Stripped from the very start of a text. */
  readonly separator: "" | " ";
  readonly words: readonly LexiconWord[];
  /** Positions in `words` that are one token at the start of a text too. */
  readonly heads: readonly number[];
  /** How it is known that words add up: from the vocabulary, or by encoding every pair of words. */
  readonly proof: "vocabulary" | "pairs";
}

/** Words of which every pair is tried: 384² pairs are 150 thousand tokens to encode, once. */
const PAIR_WORDS = { sync: 512, async: 384, hostile: 96 } as const;
const CANDIDATES = { sync: 8192, async: 4000 } as const;
/** Fewer words than this make prompts that resemble each other too much. */
const MIN_WORDS = 24;
const SAMPLE_WORDS = 16_384;
const GLUED = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const MIN_GLUED = 8;

/** Finds a lexicon; `null` where this tokenizer has no words that add up (see search-text.ts). */
export async function buildLexicon(tokenizer: Tokenizer): Promise<Lexicon | null> {
  const rng = createRng("lexicon");
  const spaced = await buildSpaced(tokenizer, rng.fork("spaced"));
  if (spaced !== null) return spaced;
  return buildGlued(tokenizer, rng.fork("glued"));
}

async function buildSpaced(tokenizer: Tokenizer, rng: Rng): Promise<Lexicon | null> {
  const sync = isSyncTokenizer(tokenizer);
  const known = tokenizer.vocabulary?.words ?? (await loadBuiltinTokenizer()).vocabulary?.words ?? [];
  const probe = await LexiconProbe.create(tokenizer, " ", known);
  if (probe === null) return null;
  const singles = await probe.findSingles(known.slice(0, sync ? CANDIDATES.sync : CANDIDATES.async));
  if (tokenizer.vocabulary?.closed === true && singles.length >= MIN_WORDS) {
    const clean = await dropFailing(probe, singles, rng.fork("closed"));
    const heads = clean === null ? [] : await probe.findHeads(clean, clean.length);
    if (clean !== null && heads.length >= MIN_WORDS)
      return { separator: " ", words: clean, heads, proof: "vocabulary" };
  }
  const amount = sync ? PAIR_WORDS.sync : PAIR_WORDS.async;
  const words = await keepPairs(
    probe,
    rng
      .fork("words")
      .shuffle(singles)
      .slice(0, amount * 2),
    amount,
  );
  const clean = words.length < MIN_WORDS ? null : await dropFailing(probe, words, rng.fork("pairs"));
  if (clean === null || clean.length < MIN_WORDS) return null;
  const heads = await probe.findHeads(clean, sync ? clean.length : 256);
  return heads.length < MIN_WORDS ? null : { separator: " ", words: clean, heads, proof: "pairs" };
}

/** Words without separators: what character and byte vocabularies take. */
async function buildGlued(tokenizer: Tokenizer, rng: Rng): Promise<Lexicon | null> {
  const probe = await LexiconProbe.create(tokenizer, "");
  if (probe === null) return null;
  const singles = await probe.findSingles(GLUED.split(""));
  const words = await keepPairs(probe, singles, singles.length);
  const clean = words.length < MIN_GLUED ? null : await dropFailing(probe, words, rng);
  if (clean === null || clean.length < MIN_GLUED) return null;
  const heads = await probe.findHeads(clean, clean.length);
  return heads.length < MIN_GLUED ? null : { separator: "", words: clean, heads, proof: "pairs" };
}

/** Of `candidates`, up to `amount` words every ordered pair of which has been encoded and adds up. */
async function keepPairs(
  probe: LexiconProbe,
  candidates: readonly LexiconWord[],
  amount: number,
): Promise<LexiconWord[]> {
  const first = candidates.slice(0, amount);
  const few = await findBadPairs(probe, first, PAIR_WORDS.async);
  if (few !== null) return withoutPairs(first, few);
  // Many pairs merge: look at fewer words, but at all of their pairs.
  const fewer = candidates.slice(0, PAIR_WORDS.hostile);
  const bad = await findBadPairs(probe, fewer, fewer.length * fewer.length);
  return bad === null ? [] : withoutPairs(fewer, bad);
}

/** Takes out the word with the most bad pairs until no bad pair is left. */
function withoutPairs(
  words: readonly LexiconWord[],
  bad: readonly (readonly [number, number])[],
): LexiconWord[] {
  const gone = new Set<number>();
  for (;;) {
    const count = new Map<number, number>();
    for (const [left, right] of bad) {
      if (gone.has(left) || gone.has(right)) continue;
      count.set(left, (count.get(left) ?? 0) + 1);
      if (right !== left) count.set(right, (count.get(right) ?? 0) + 1);
    }
    let worst = -1;
    for (const [word, pairs] of count) if (worst < 0 || pairs > (count.get(worst) ?? 0)) worst = word;
    if (worst < 0) return words.filter((_, at) => !gone.has(at));
    gone.add(worst);
  }
}

/** Long random texts of these words must give their ids; a few words may be dropped for it. */
async function dropFailing(
  probe: LexiconProbe,
  words: readonly LexiconWord[],
  rng: Rng,
): Promise<LexiconWord[] | null> {
  let left = [...words];
  for (let attempt = 0; attempt < 24 && left.length > 0; attempt++) {
    const pool = left;
    // Every word at least once where they are fewer than the sample, then at random.
    const sample = rng.shuffle(pool).slice(0, SAMPLE_WORDS);
    while (sample.length < SAMPLE_WORDS) sample.push(rng.pick(pool));
    const bad = await checkSequences(probe, sample);
    if (bad.length === 0) return left;
    const out = new Set(bad);
    left = left.filter((word) => !out.has(word));
  }
  return null;
}
