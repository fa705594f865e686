/**
 * KV blocks on the GPU, with prefix caching as in vLLM: a full block is known by its content's name; a block nobody uses stays
 * cached in a free queue, least recently freed first, until it is taken for something else. All operations are O(1).
 */

import type { BlockNames } from "./block-names.ts";

/** Told when a cached content leaves the GPU or the host tier; its name is still held during the call. */
export type GoneListener = (name: number) => void;

export class BlockPool {
  readonly size: number;
  /** Called when a cached block is overwritten. */
  onEvict: GoneListener | null = null;
  #free: number;
  readonly #refs: Int32Array;
  readonly #names: BlockNames;
  /** Name of what a cached block holds; −1 = not cached. */
  readonly #content: Int32Array;
  #cached = 0;
  readonly #next: Int32Array;
  readonly #previous: Int32Array;

  constructor(size: number, names: BlockNames) {
    this.size = size;
    this.#names = names;
    this.#free = size;
    this.#refs = new Int32Array(size);
    this.#content = new Int32Array(size).fill(-1);
    // A ring of all free blocks; index `size` is its head.
    this.#next = Int32Array.from({ length: size + 1 }, (_, i) => (i === size ? 0 : i + 1));
    this.#previous = Int32Array.from({ length: size + 1 }, (_, i) => (i === 0 ? size : i - 1));
  }

  /** Blocks that nobody uses (cached or not). */
  get free(): number {
    return this.#free;
  }

  get used(): number {
    return this.size - this.#free;
  }

  /** Blocks whose content can be found. */
  get cached(): number {
    return this.#cached;
  }

  isFree(block: number): boolean {
    return this.#refs[block] === 0;
  }

  /** Takes the least recently freed block, forgetting what it held. The caller has checked {@link free}. */
  take(): number {
    const block = this.#next[this.size] as number;
    if (block === this.size) throw new Error("block pool: nothing is free");
    this.#unlink(block);
    this.#refs[block] = 1;
    const name = this.#content[block] as number;
    if (name >= 0) this.#forget(block, name);
    return block;
  }

  /** One more user of a cached block. */
  share(block: number): void {
    if (this.#refs[block] === 0) this.#unlink(block);
    this.#refs[block] = (this.#refs[block] as number) + 1;
  }

  /** One user less; an unused block goes to the end of the free queue and stays cached there. */
  release(block: number): void {
    const refs = (this.#refs[block] as number) - 1;
    this.#refs[block] = refs;
    if (refs > 0) return;
    const last = this.#previous[this.size] as number;
    this.#next[last] = block;
    this.#previous[block] = last;
    this.#next[block] = this.size;
    this.#previous[this.size] = block;
    this.#free++;
  }

  /** Makes a full block findable. A content that is already cached keeps its first block. */
  commit(block: number, name: number): void {
    if ((this.#names.gpu[name] as number) >= 0) return;
    this.#names.share(name);
    this.#names.gpu[name] = block;
    this.#content[block] = name;
    this.#cached++;
  }

  /** Forgets all cached content. Only while nothing is in use: else returns `false` and changes nothing. */
  reset(): boolean {
    if (this.used > 0) return false;
    for (let block = 0; block < this.size; block++) {
      const name = this.#content[block] as number;
      if (name >= 0) this.#forget(block, name);
    }
    return true;
  }

  #forget(block: number, name: number): void {
    this.#content[block] = -1;
    this.#names.gpu[name] = -1;
    this.#cached--;
    this.onEvict?.(name);
    this.#names.drop(name);
  }

  #unlink(block: number): void {
    const next = this.#next[block] as number;
    const previous = this.#previous[block] as number;
    this.#next[previous] = next;
    this.#previous[next] = previous;
    this.#free--;
  }
}
