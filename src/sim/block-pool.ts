/**
 * KV blocks on the GPU, with prefix caching as in vLLM: a full block is known by its hash; a block nobody uses stays
 * cached in a free queue, least recently freed first, until it is taken for something else. All operations are O(1).
 */

/** Told when a cached hash leaves the GPU or the host tier. */
export type GoneListener = (hash: number, depth: number) => void;

export class BlockPool {
  readonly size: number;
  /** Called when a cached block is overwritten. */
  onEvict: GoneListener | null = null;
  #free: number;
  readonly #refs: Int32Array;
  /** Hash of a cached block; −1 = not cached. */
  readonly #hash: Float64Array;
  /** Position of a cached block in its sequence. */
  readonly #depth: Int32Array;
  readonly #next: Int32Array;
  readonly #previous: Int32Array;
  readonly #cached = new Map<number, number>();

  constructor(size: number) {
    this.size = size;
    this.#free = size;
    this.#refs = new Int32Array(size);
    this.#hash = new Float64Array(size).fill(-1);
    this.#depth = new Int32Array(size);
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

  /** Blocks whose content is known by a hash. */
  get cached(): number {
    return this.#cached.size;
  }

  isFree(block: number): boolean {
    return this.#refs[block] === 0;
  }

  /** The block with this hash, or −1. */
  find(hash: number): number {
    return this.#cached.get(hash) ?? -1;
  }

  /** Takes the least recently freed block, forgetting what it held. The caller has checked {@link free}. */
  take(): number {
    const block = this.#next[this.size] as number;
    if (block === this.size) throw new Error("block pool: nothing is free");
    this.#unlink(block);
    this.#refs[block] = 1;
    const hash = this.#hash[block] as number;
    if (hash >= 0) {
      this.#cached.delete(hash);
      this.#hash[block] = -1;
      this.onEvict?.(hash, this.#depth[block] as number);
    }
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

  /** Makes a full block findable. A hash that is already cached keeps its first block. */
  commit(block: number, hash: number, depth: number): void {
    if (this.#cached.has(hash)) return;
    this.#cached.set(hash, block);
    this.#hash[block] = hash;
    this.#depth[block] = depth;
  }

  /** Forgets all cached content. Only while nothing is in use: else returns `false` and changes nothing. */
  reset(): boolean {
    if (this.used > 0) return false;
    this.#cached.clear();
    this.#hash.fill(-1);
    return true;
  }

  #unlink(block: number): void {
    const next = this.#next[block] as number;
    const previous = this.#previous[block] as number;
    this.#next[previous] = next;
    this.#previous[next] = previous;
    this.#free--;
  }
}
