/**
 * Seeded randomness, forked by purpose: `rng.fork("arrivals")` and `rng.fork("lengths")` are independent, and adding a
 * draw to one never shifts the other. Seed the plan, never a worker.
 */
import { xoroshiro128plusFromState } from "pure-rand/generator/xoroshiro128plus";
import { createHash, randomInt } from "node:crypto";
import { randomExponential, randomGamma, randomLogNormal, randomNormal } from "d3-random";

export interface Rng {
  /** Uniform in [0, 1), 53 bits. */
  uniform(): number;
  /** Uniform integer in [low, high], both included. */
  integer(low: number, high: number): number;
  /** Gamma(shape, scale); mean shape·scale. */
  gamma(shape: number, scale: number): number;
  /** Exponential with this rate; mean 1/rate. */
  exponential(rate: number): number;
  normal(mean: number, sigma: number): number;
  /** exp(Normal(mu, sigma)). */
  logNormal(mu: number, sigma: number): number;
  /** One element, uniformly. Throws on an empty array. */
  pick<T>(items: readonly T[]): T;
  /** A new array in random order (Fisher–Yates). */
  shuffle<T>(items: readonly T[]): T[];
  /** An independent stream for one purpose; the same purpose gives the same stream. */
  fork(purpose: string): Rng;
}

class SeededRng implements Rng {
  readonly #path: string;
  readonly #next: () => number;

  constructor(path: string) {
    this.#path = path;
    const digest = createHash("sha256").update(path).digest();
    // The whole 128-bit state comes from the digest of the path: forks never overlap in practice.
    const generator = xoroshiro128plusFromState([0, 4, 8, 12].map((at) => digest.readInt32LE(at)));
    this.#next = () => {
      const high = (generator.next() >>> 0) >>> 5; // 27 bits
      const low = (generator.next() >>> 0) >>> 6; // 26 bits
      return (high * 67108864 + low) / 9007199254740992;
    };
  }

  uniform(): number {
    return this.#next();
  }

  integer(low: number, high: number): number {
    return low + Math.floor(this.#next() * (high - low + 1));
  }

  gamma(shape: number, scale: number): number {
    return randomGamma.source(this.#next)(shape, scale)();
  }

  exponential(rate: number): number {
    return randomExponential.source(this.#next)(rate)();
  }

  normal(mean: number, sigma: number): number {
    return randomNormal.source(this.#next)(mean, sigma)();
  }

  logNormal(mu: number, sigma: number): number {
    return randomLogNormal.source(this.#next)(mu, sigma)();
  }

  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new Error("pick from an empty array");
    return items[Math.floor(this.#next() * items.length)] as T;
  }

  shuffle<T>(items: readonly T[]): T[] {
    const out = [...items];
    for (let i = out.length - 1; i > 0; i--) {
      const j = Math.floor(this.#next() * (i + 1));
      [out[i], out[j]] = [out[j] as T, out[i] as T];
    }
    return out;
  }

  fork(purpose: string): Rng {
    return new SeededRng(`${this.#path}/${purpose}`);
  }
}

/** A random stream from a seed: the same seed gives the same numbers on every machine. */
export function createRng(seed: number | string): Rng {
  return new SeededRng(`reprise:${seed}`);
}

/** A seed nobody chose, to be written into the manifest. */
export function drawSeed(): number {
  return randomInt(0, 2 ** 47);
}
