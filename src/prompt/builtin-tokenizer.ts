/** The vocabulary that ships with Reprise: o200k. Only used, with a warning, when nothing of the target's own is at hand. */
import type { SyncTokenizer } from "./tokenizer.ts";

/** How many words a lexicon looks at; more adds nothing but time. */
export const MAX_WORDS = 8192;

const WORD = /^ [a-z]{3,9}$/;

let loaded: Promise<SyncTokenizer> | null = null;

/** Loads the built-in tokenizer (about half a second, once a process). */
export function loadBuiltinTokenizer(): Promise<SyncTokenizer> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<SyncTokenizer> {
  const o200k = await import("gpt-tokenizer/encoding/o200k_base");
  const words: string[] = [];
  for (let id = 0; id < o200k.vocabularySize && words.length < MAX_WORDS; id++) {
    const piece = o200k.decode([id]);
    if (WORD.test(piece)) words.push(piece.slice(1));
  }
  // A special token's name in a prompt is text here, as it is in a user's message.
  const options = { disallowedSpecial: new Set<string>() };
  return {
    name: "o200k_base",
    source: "builtin",
    encode: (text) => o200k.encode(text, options),
    decode: (ids) => o200k.decode(ids),
    count: (text) => o200k.countTokens(text, options),
    overhead_tokens: null,
    // The pre-tokeniser of this vocabulary cuts before every space that a letter follows.
    vocabulary: { words, closed: true },
  };
}
