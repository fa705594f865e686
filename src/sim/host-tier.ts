/**
 * KV blocks in host memory: what the GPU evicts goes here, least recently evicted out first; a block that is read back
 * or computed anew leaves it (the two tiers never hold the same content, so their sizes add up). All operations are O(1).
 */
import type { BlockNames } from "./block-names.ts";
import type { GoneListener } from "./block-pool.ts";

export class HostTier {
  readonly size: number;
  /** Called when a content leaves: read back, or dropped for room. */
  onGone: GoneListener | null = null;
  readonly #names: BlockNames;
  #used = 0;
  /** The queue's ends, linked through the names; its last `next` points to itself. −1 = empty. */
  #oldest = -1;
  #newest = -1;

  constructor(size: number, names: BlockNames) {
    this.size = size;
    this.#names = names;
  }

  get used(): number {
    return this.#used;
  }

  has(name: number): boolean {
    return (this.#names.next[name] as number) >= 0;
  }

  /** Keeps a content; returns whether it was written (not when the tier has no room at all, or holds it already). */
  put(name: number): boolean {
    if (this.size === 0 || this.has(name)) return false;
    if (this.#used >= this.size) this.take(this.#oldest);
    const names = this.#names;
    names.share(name);
    if (this.#newest >= 0) names.next[this.#newest] = name;
    else this.#oldest = name;
    names.previous[name] = this.#newest;
    names.next[name] = name;
    this.#newest = name;
    this.#used++;
    return true;
  }

  /** Removes a content, where it is here. */
  take(name: number): void {
    if (!this.has(name)) return;
    const names = this.#names;
    const previous = names.previous[name] as number;
    const next = names.next[name] as number;
    const last = next === name;
    if (last) this.#newest = previous;
    else names.previous[next] = previous;
    if (previous < 0) this.#oldest = last ? -1 : next;
    else names.next[previous] = last ? previous : next;
    names.next[name] = -1;
    this.#used--;
    this.onGone?.(name);
    names.drop(name);
  }

  reset(): void {
    while (this.#used > 0) this.take(this.#oldest);
  }
}
