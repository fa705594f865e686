/**
 * Names become numbers: the same (seed, name, position) always gives the same word, in any order and on any lane, without
 * a stream of random numbers to keep in step. Not cryptographic; the seed itself comes from an `Rng`.
 */

/** Two 32-bit halves. */
export interface HashKey {
  readonly a: number;
  readonly b: number;
}

/** A 32-bit finaliser with full avalanche (the constants of MurmurHash3's). */
export function mix32(value: number): number {
  let h = value | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** A key made of `seed` and two 32-bit words. */
export function deriveKey(seed: HashKey, low: number, high: number): HashKey {
  const a = mix32(seed.a ^ mix32(low + 0x9e3779b9) ^ Math.imul(high | 0, 0x27d4eb2f));
  const b = mix32(seed.b ^ mix32(high + 0x7f4a7c15) ^ Math.imul(low | 0, 0x165667b1) ^ a);
  return { a, b };
}

/** A key made of `seed` and a text. */
export function deriveKeyFromText(seed: HashKey, text: string): HashKey {
  let a = seed.a | 0;
  let b = seed.b | 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 0x9e3779b1);
    b = Math.imul(b ^ code, 0x5f356495);
    a ^= b >>> 15;
    b ^= a >>> 13;
  }
  return deriveKey({ a: a >>> 0, b: b >>> 0 }, text.length, 0x51ed270b);
}

/** The `at`-th number of a key's sequence, an integer in [0, bound). `bound` ≤ 2^32. */
export function pickAt(key: HashKey, at: number, bound: number): number {
  const bits = mix32(key.a ^ mix32(key.b + Math.imul(at + 1, 0x9e3779b9)));
  return Math.floor((bits / 4294967296) * bound);
}
