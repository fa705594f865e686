/** What Reprise asks of a tokenizer, wherever it lives: in a file, behind the server's `/tokenize`, or built in. */
import type { Tokens } from "../core/units.ts";

export type TokenizerSource = "local" | "server" | "builtin";

export interface Tokenizer {
  /** A path, a model's name, or the built-in vocabulary's name. */
  readonly name: string;
  readonly source: TokenizerSource;
  /** Token ids of `text`, without the special tokens a server adds around a prompt (BOS, EOS). */
  encode(text: string): readonly number[] | Promise<readonly number[]>;
  decode?(ids: readonly number[]): string | Promise<string>;
  count(text: string): Tokens | Promise<Tokens>;
  /**
   * Tokens that are added to every bare prompt (BOS…), so that a server's own count is this much higher than `count`.
   * `null` = not known. A chat template's tokens are not in it: they show as planned against counted lengths.
   */
  readonly overhead_tokens?: Tokens | null;
  /** What the vocabulary itself tells, where it is at hand. */
  readonly vocabulary?: VocabularyFacts | null;
}

export interface VocabularyFacts {
  /** Lower-case ASCII words that exist as one token after a space; the most frequent first. */
  readonly words: readonly string[];
  /**
   * No token holds the end of one of these words and a space behind it: no merge can reach from one word into the next, so
   * the tokens of words joined by spaces are the tokens of each word.
   */
  readonly closed: boolean;
}

/** A tokenizer that answers at once. */
export interface SyncTokenizer extends Tokenizer {
  encode(text: string): readonly number[];
  decode?(ids: readonly number[]): string;
  count(text: string): Tokens;
}

/** Whether `tokenizer` answers at once (probes it with one short text). */
export function isSyncTokenizer(tokenizer: Tokenizer): tokenizer is SyncTokenizer {
  const answer = tokenizer.encode("a");
  if (!(answer instanceof Promise)) return true;
  // The probe's outcome does not matter here; whoever encodes next sees the error.
  answer.catch(() => undefined);
  return false;
}
