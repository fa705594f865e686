/** A tokenizer that is looked for when it is first asked: a dataset that counts nothing asks no server for `/tokenize`. */
import type { ResolvedTokenizer } from "../prompt/resolve-tokenizer.ts";
import type { Tokenizer } from "../prompt/tokenizer.ts";

export interface LazyTokenizer {
  readonly tokenizer: Tokenizer;
  /** What was found, if it was asked for. */
  found(): Promise<ResolvedTokenizer> | null;
}

export function lazyTokenizer(resolve: () => Promise<ResolvedTokenizer>): LazyTokenizer {
  let resolved: Promise<ResolvedTokenizer> | null = null;
  const get = async (): Promise<Tokenizer> => (await (resolved ??= resolve())).tokenizer;
  return {
    tokenizer: {
      name: "not looked for yet",
      source: "builtin",
      encode: async (text) => (await get()).encode(text),
      count: async (text) => (await get()).count(text),
    },
    found: () => resolved,
  };
}
