/**
 * KV blocks in host memory: what the GPU evicts goes here, least recently evicted out first; a block that is read back
 * leaves it (the two tiers never hold the same block, so their sizes add up).
 */
import type { GoneListener } from "./block-pool.ts";

export class HostTier {
  readonly size: number;
  /** Called when a block leaves: read back, or dropped for room. */
  onGone: GoneListener | null = null;
  /** Hash → depth, in order of arrival. */
  readonly #blocks = new Map<number, number>();

  constructor(size: number) {
    this.size = size;
  }

  get used(): number {
    return this.#blocks.size;
  }

  has(hash: number): boolean {
    return this.#blocks.has(hash);
  }

  /** Keeps a block; returns whether it was written (not when the tier has no room at all, or holds it already). */
  put(hash: number, depth: number): boolean {
    if (this.size === 0 || this.#blocks.has(hash)) return false;
    if (this.#blocks.size >= this.size) {
      const oldest = this.#blocks.entries().next();
      if (!oldest.done) {
        this.#blocks.delete(oldest.value[0]);
        this.onGone?.(oldest.value[0], oldest.value[1]);
      }
    }
    this.#blocks.set(hash, depth);
    return true;
  }

  /** Removes a block that is read back. */
  take(hash: number): void {
    const depth = this.#blocks.get(hash);
    if (depth === undefined) return;
    this.#blocks.delete(hash);
    this.onGone?.(hash, depth);
  }

  reset(): void {
    this.#blocks.clear();
  }
}
