/**
 * A prompt as the engine sees it: its length and one chained hash a KV block. Token ids themselves are not kept, so a
 * prompt of 150,000 tokens costs 75 KB and nothing a step.
 */

/** The chain: 64 bits of state, fed token by token. */
export interface HashChain {
  a: number;
  b: number;
  /** Tokens in the block that is being filled. */
  fill: number;
}

export interface PromptDigest {
  readonly tokens: number;
  readonly block_size: number;
  /** One for each full block; equal hashes mean equal tokens up to and including this block (53 bits). */
  readonly hashes: Float64Array;
  /** State after the last token. */
  readonly chain: HashChain;
}

/** A chain at the start of a sequence. `salt` keeps equal prompts of different salts apart (vLLM's `cache_salt`). */
export function startChain(salt: string | null = null): HashChain {
  const chain = { a: 0x2545f491, b: 0x27220a95, fill: 0 };
  for (const char of salt ?? "") feed(chain, char.codePointAt(0) as number);
  chain.fill = 0;
  return chain;
}

function feed(chain: HashChain, id: number): void {
  let a = Math.imul(chain.a ^ id, 0x9e3779b1);
  a ^= a >>> 15;
  chain.a = a;
  const b = Math.imul(chain.b ^ id, 0x85ebca77);
  chain.b = (((b << 13) | (b >>> 19)) + a) | 0;
}

/** Two 32-bit states → one key of 53 bits. */
function key(a: number, b: number): number {
  return (a >>> 0) * 2_097_152 + (Math.imul(b ^ (b >>> 16), 0xc2b2ae3d) >>> 11);
}

/** Adds one token; returns the hash of the block it completes, else `null`. */
export function extendChain(chain: HashChain, id: number, block_size: number): number | null {
  feed(chain, id);
  if (++chain.fill < block_size) return null;
  chain.fill = 0;
  return key(chain.a, chain.b);
}

/** Digests token ids. About 3 ns a token. */
export function digestPrompt(
  ids: ArrayLike<number>,
  block_size: number,
  salt: string | null = null,
): PromptDigest {
  const tokens = ids.length;
  const hashes = new Float64Array(Math.floor(tokens / block_size));
  const start = startChain(salt);
  let a = start.a;
  let b = start.b;
  let at = 0;
  for (let block = 0; block < hashes.length; block++) {
    for (const end = at + block_size; at < end; at++) {
      const id = ids[at] as number;
      a = Math.imul(a ^ id, 0x9e3779b1);
      a ^= a >>> 15;
      b = Math.imul(b ^ id, 0x85ebca77);
      b = (((b << 13) | (b >>> 19)) + a) | 0;
    }
    hashes[block] = key(a, b);
  }
  const chain = { a, b, fill: 0 };
  for (; at < tokens; at++) {
    feed(chain, ids[at] as number);
    chain.fill++;
  }
  return { tokens, block_size, hashes, chain };
}
