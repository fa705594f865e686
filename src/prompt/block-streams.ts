/**
 * Prefix blocks by name: equal (scope, id) gives equal tokens, whoever asks and in whatever order, so that a prefix cache
 * hits as it did when the trace was taken. The last block of a prompt may be cut: a cut block is the start of the whole.
 */
import type { BlockId, LengthPrompt } from "../trace/trace-request.ts";
import type { Filler, StreamName } from "./filler.ts";
import { deriveKey, deriveKeyFromText, type HashKey } from "./keyed-hash.ts";

/** Text of blocks that is kept for the next request of the same job, characters. */
const CACHE_CHARS = 64 << 20;
const TWO_32 = 4294967296;

interface Scope {
  readonly key: HashKey;
  /** Shifts the numbering of heads, so that the block 0 of two scopes seldom begin alike. */
  readonly shift: number;
  readonly texts: Map<BlockId, string>;
}

export class BlockStreams {
  readonly #filler: Filler;
  readonly #seed: HashKey;
  #scopes = new Map<string, Scope>();
  #cached = 0;

  constructor(filler: Filler, seed: HashKey) {
    this.#filler = filler;
    this.#seed = seed;
  }

  /** The blocks' text, at most `total` tokens of it, and how many tokens that is. */
  text(prompt: LengthPrompt, copy: number, total: number): { text: string; tokens: number } {
    const { hash_ids: ids, block_tokens: size } = prompt;
    if (ids === null || size === null || size <= 0) return { text: "", tokens: 0 };
    const scope = this.#scope(prompt, copy);
    const parts: string[] = [];
    let tokens = 0;
    for (const id of ids) {
      const amount = Math.min(size, total - tokens);
      if (amount <= 0) break;
      parts.push(amount === size ? this.#whole(scope, id, size) : this.#filler.text(name(scope, id), amount));
      tokens += amount;
    }
    return { text: parts.join(""), tokens };
  }

  /** The blocks' token ids, appended to `out`; returns how many. */
  ids(prompt: LengthPrompt, copy: number, total: number, out: number[]): number {
    const { hash_ids: ids, block_tokens: size } = prompt;
    if (ids === null || size === null || size <= 0) return 0;
    const scope = this.#scope(prompt, copy);
    let tokens = 0;
    for (const id of ids) {
      const amount = Math.min(size, total - tokens);
      if (amount <= 0) break;
      this.#filler.ids(name(scope, id), amount, out);
      tokens += amount;
    }
    return tokens;
  }

  #whole(scope: Scope, id: BlockId, size: number): string {
    const known = scope.texts.get(id);
    if (known !== undefined) return known;
    const text = this.#filler.text(name(scope, id), size);
    this.#cached += text.length;
    if (this.#cached > CACHE_CHARS) {
      this.#cached = text.length;
      for (const other of this.#scopes.values()) other.texts.clear();
    }
    scope.texts.set(id, text);
    return text;
  }

  #scope(prompt: LengthPrompt, copy: number): Scope {
    // The block size is part of the name: ids of two sizes in one scope are different blocks.
    const named = `${copy}\n${prompt.block_tokens}\n${prompt.hash_scope === null ? "" : `in ${prompt.hash_scope}`}`;
    const known = this.#scopes.get(named);
    if (known !== undefined) return known;
    // A scope that is done never comes back; the table only must not grow without end.
    if (this.#scopes.size > 10_000) this.#scopes = new Map();
    const key = deriveKeyFromText(this.#seed, `block\n${named}`);
    const scope: Scope = { key, shift: key.b, texts: new Map() };
    this.#scopes.set(named, scope);
    return scope;
  }
}

function name(scope: Scope, id: BlockId): StreamName {
  if (typeof id === "number" && Number.isSafeInteger(id) && id >= 0 && id < TWO_32) {
    return { purpose: "block", first: id + scope.shift, key: deriveKey(scope.key, id, 0) };
  }
  const key = deriveKeyFromText(scope.key, String(id));
  return { purpose: "block", first: key.a, key };
}
