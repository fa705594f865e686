/**
 * Where the runs of a {@link PrefixTrie} are kept, and how they compare with the sequence that is being added. A run is
 * `length` symbols from a place on; a store says how symbols lie at places.
 */
export interface RunStore {
  /** Equal symbols have equal keys: of symbol `at` of the sequence... */
  keyOf(at: number): number;
  /** ...and of the `symbol`-th symbol of the run at `place`. */
  keyAt(place: number, symbol: number): number;
  /** How many symbols of the sequence from `at` on, at most `most`, are those at `place`. */
  common(place: number, at: number, most: number): number;
  /** Keeps the symbols [from, to) of the sequence; returns their place. */
  keep(from: number, to: number): number;
  /** The place `by` symbols further on. */
  further(place: number, by: number): number;
  clear(): void;
}

/**
 * A radix tree over sequences of symbols. An edge is a run of symbols; a sequence that begins like one before adds one node,
 * however long it is, so that a cache of a million prompts is a few typed arrays.
 */
export class PrefixTrie {
  readonly #store: RunStore;
  /** Per node: where the run to it is, its length, and the node it comes from (−1: a root). */
  #place: Float64Array = new Float64Array(FEW);
  #length: Int32Array = new Int32Array(FEW);
  #parent: Int32Array = new Int32Array(FEW);
  /** Of (parent, first symbol). */
  #hash: Int32Array = new Int32Array(FEW);
  #nodes = 1;
  /** Open addressing: (node, first symbol of a run) → child; 0 = empty. */
  #slots: Int32Array = new Int32Array(2 * FEW);
  #mask = 2 * FEW - 1;

  constructor(store: RunStore) {
    this.#store = store;
  }

  /** Forgets everything, the roots too; keeps its tables unless they have become large. */
  clear(): void {
    this.#store.clear();
    this.#nodes = 1;
    if (this.#slots.length > MANY_SLOTS) {
      this.#slots = new Int32Array(2 * FEW);
      this.#mask = 2 * FEW - 1;
    } else this.#slots.fill(0);
  }

  /** A new root: sequences under different roots share nothing. */
  root(): number {
    return this.#node(-1, 0, 0, 0);
  }

  /** Adds the store's sequence of `count` symbols under `root`; returns how many of them, from the first on, were there. */
  add(root: number, count: number): number {
    const store = this.#store;
    let node = root;
    let at = 0;
    while (at < count) {
      const hash = hashOf(node, store.keyOf(at));
      const slot = this.#find(node, hash, at);
      const child = this.#slots[slot] as number;
      if (child === 0) {
        this.#leaf(slot, node, hash, at, count);
        return at;
      }
      const length = this.#length[child] as number;
      const same = store.common(this.#place[child] as number, at, Math.min(length, count - at));
      at += same;
      if (same < length) {
        if (at === count) return count;
        const fork = this.#split(slot, child, same);
        const other = hashOf(fork, store.keyOf(at));
        this.#leaf(this.#find(fork, other, at), fork, other, at, count);
        return at;
      }
      node = child;
    }
    return count;
  }

  #leaf(slot: number, node: number, hash: number, from: number, to: number): void {
    this.#slots[slot] = this.#node(node, hash, this.#store.keep(from, to), to - from);
    if (this.#nodes * 2 > this.#mask) this.#grow();
  }

  /** A node after the first `length` symbols of the run to `child`, which then begins there. */
  #split(slot: number, child: number, length: number): number {
    const place = this.#place[child] as number;
    const fork = this.#node(this.#parent[child] as number, this.#hash[child] as number, place, length);
    this.#slots[slot] = fork;
    this.#place[child] = this.#store.further(place, length);
    this.#length[child] = (this.#length[child] as number) - length;
    this.#parent[child] = fork;
    const hash = hashOf(fork, this.#store.keyAt(place, length));
    this.#hash[child] = hash;
    // The fork is new: it has no other child to compare with.
    let free = hash & this.#mask;
    while (this.#slots[free] !== 0) free = (free + 1) & this.#mask;
    this.#slots[free] = child;
    if (this.#nodes * 2 > this.#mask) this.#grow();
    return fork;
  }

  #node(parent: number, hash: number, place: number, length: number): number {
    const node = this.#nodes++;
    if (node === this.#place.length) {
      this.#place = larger(this.#place);
      this.#length = larger(this.#length);
      this.#parent = larger(this.#parent);
      this.#hash = larger(this.#hash);
    }
    this.#place[node] = place;
    this.#length[node] = length;
    this.#parent[node] = parent;
    this.#hash[node] = hash;
    return node;
  }

  /** The slot of the child of `node` whose run begins with the sequence's symbol `at`, or the empty one where it would be. */
  #find(node: number, hash: number, at: number): number {
    let slot = hash & this.#mask;
    for (;;) {
      const child = this.#slots[slot] as number;
      if (child === 0) return slot;
      if (
        this.#hash[child] === hash &&
        this.#parent[child] === node &&
        this.#store.common(this.#place[child] as number, at, 1) === 1
      )
        return slot;
      slot = (slot + 1) & this.#mask;
    }
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Int32Array(old.length * 2);
    this.#mask = this.#slots.length - 1;
    for (let i = 0; i < old.length; i++) {
      const child = old[i] as number;
      if (child === 0) continue;
      let slot = (this.#hash[child] as number) & this.#mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & this.#mask;
      this.#slots[slot] = child;
    }
  }
}

const FEW = 1 << 8;
const MANY_SLOTS = 1 << 14;

function larger<A extends Float64Array | Int32Array>(old: A): A {
  const next = new (old.constructor as new (length: number) => A)(old.length * 2);
  next.set(old);
  return next;
}

function hashOf(node: number, key: number): number {
  // Odd multipliers and a final mix: neighbouring nodes and symbols must not cluster.
  let hash = Math.imul(node, 0x9e3779b1) ^ Math.imul(key, 0x85ebca77);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0xc2b2ae3d);
  return hash ^ (hash >>> 13);
}
