/**
 * Exact lengths under a tokenizer whose words do not add up: words are appended, the whole text is encoded again, and the
 * end is changed until the count is right. Slow, and only for tokenizers that answer at once; where no text of the wanted
 * length is found, it says so instead of sending a wrong one.
 */
import { UserError } from "../core/failure.ts";
import { pickAt, type HashKey } from "./keyed-hash.ts";
import type { SyncTokenizer } from "./tokenizer.ts";

const ENDINGS = 400;

/**
 * `start` prolonged to exactly `tokens` tokens in all. The same start, key and length give the same text. Throws a
 * {@link UserError} where that fails.
 */
export function searchText(
  tokenizer: SyncTokenizer,
  words: readonly string[],
  start: string,
  key: HashKey,
  tokens: number,
): string {
  const word = (at: number): string => words[pickAt(key, at, words.length)] as string;
  const make = (amount: number): string => {
    const parts = start === "" ? [] : [start];
    for (let at = 0; at < amount; at++) parts.push(word(at));
    return parts.join(" ");
  };
  // The largest number of words that is not too long: counts hardly ever fall as words are added.
  let low = 0;
  let high = 1;
  while (high < tokens * 8 && tokenizer.count(make(high)) <= tokens) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (tokenizer.count(make(middle)) <= tokens) low = middle;
    else high = middle;
  }
  for (let back = 0; back <= Math.min(low, 8); back++) {
    const base = make(low - back);
    if (tokenizer.count(base) === tokens) return base;
    for (let ending = 0; ending < ENDINGS; ending++) {
      const text = `${base}${base === "" ? "" : " "}${endingOf(words, key, ending, back + 1)}`;
      if (tokenizer.count(text) === tokens) return text;
    }
  }
  throw new UserError(
    `no prompt of exactly ${tokens} tokens was found under the tokenizer ${tokenizer.name}`,
    {
      hint: "its tokens depend on their neighbours; give prompts as text, or name another tokenizer",
    },
  );
}

function endingOf(words: readonly string[], key: HashKey, ending: number, amount: number): string {
  return Array.from(
    { length: amount },
    (_, at) => words[pickAt({ a: key.a ^ ending, b: key.b + at }, ending, words.length)] as string,
  ).join(" ");
}
