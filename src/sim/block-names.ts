/**
 * Names for block contents: each distinct chained hash gets a small integer while somebody holds it (a sequence, the
 * GPU's cache, host memory). After one look-up a block, everything else about it is an array access. An open-addressing
 * table on typed arrays: JavaScript's Map spends most of its time on numbers this large, and never forgets deletions cheaply.
 */
export class BlockNames {
  /** GPU block that holds this content, −1 = none. */
  gpu: Int32Array;
  /** Position of the block in its sequence. */
  depth: Int32Array;
  /** Neighbours in the host tier's queue; `next` is −1 outside of it. */
  next: Int32Array;
  previous: Int32Array;
  #hash: Float64Array;
  #holders: Int32Array;
  /** Slot → name, −1 = empty; at most half full. */
  #slots: Int32Array;
  #mask: number;
  #used = 0;
  #free: number[] = [];
  #count = 0;

  constructor(capacity = 1024) {
    this.gpu = new Int32Array(capacity);
    this.depth = new Int32Array(capacity);
    this.next = new Int32Array(capacity);
    this.previous = new Int32Array(capacity);
    this.#hash = new Float64Array(capacity);
    this.#holders = new Int32Array(capacity);
    this.#slots = new Int32Array(capacity * 2).fill(-1);
    this.#mask = capacity * 2 - 1;
  }

  /** Names in use. */
  get size(): number {
    return this.#count;
  }

  /** The name of a content, held once more by the caller. */
  hold(hash: number, depth: number): number {
    let slot = this.#home(hash);
    for (;;) {
      const name = this.#slots[slot] as number;
      if (name < 0) break;
      if (this.#hash[name] === hash) {
        this.#holders[name] = (this.#holders[name] as number) + 1;
        return name;
      }
      slot = (slot + 1) & this.#mask;
    }
    if (this.#free.length === 0 && this.#used === this.gpu.length) {
      this.#grow();
      return this.hold(hash, depth);
    }
    const name = this.#free.pop() ?? this.#used++;
    this.#slots[slot] = name;
    this.#hash[name] = hash;
    this.depth[name] = depth;
    this.gpu[name] = -1;
    this.next[name] = -1;
    this.#holders[name] = 1;
    this.#count++;
    return name;
  }

  /** One more holder of a known name. */
  share(name: number): void {
    this.#holders[name] = (this.#holders[name] as number) + 1;
  }

  /** One holder less; a name nobody holds is given back. */
  drop(name: number): void {
    const holders = (this.#holders[name] as number) - 1;
    this.#holders[name] = holders;
    if (holders > 0) return;
    this.#remove(this.#hash[name] as number);
    this.#free.push(name);
    this.#count--;
  }

  #home(hash: number): number {
    const high = (hash / 2_097_152) >>> 0;
    const mixed = Math.imul(high ^ (high >>> 15), 0x9e3779b1);
    return (mixed ^ (mixed >>> 13)) & this.#mask;
  }

  #remove(hash: number): void {
    const slots = this.#slots;
    let hole = this.#home(hash);
    while (this.#hash[slots[hole] as number] !== hash) hole = (hole + 1) & this.#mask;
    // Moves later entries of the run back, so that no search ends early.
    for (let at = (hole + 1) & this.#mask; (slots[at] as number) >= 0; at = (at + 1) & this.#mask) {
      const home = this.#home(this.#hash[slots[at] as number] as number);
      if (((at - home) & this.#mask) < ((at - hole) & this.#mask)) continue;
      slots[hole] = slots[at] as number;
      hole = at;
    }
    slots[hole] = -1;
  }

  #grow(): void {
    const capacity = this.gpu.length * 2;
    const wider = (old: Int32Array): Int32Array => {
      const fresh = new Int32Array(capacity);
      fresh.set(old);
      return fresh;
    };
    this.gpu = wider(this.gpu);
    this.depth = wider(this.depth);
    this.next = wider(this.next);
    this.previous = wider(this.previous);
    this.#holders = wider(this.#holders);
    const hashes = new Float64Array(capacity);
    hashes.set(this.#hash);
    this.#hash = hashes;
    this.#slots = new Int32Array(capacity * 2).fill(-1);
    this.#mask = capacity * 2 - 1;
    // Called only when every name is in use.
    for (let name = 0; name < this.#used; name++) {
      let slot = this.#home(hashes[name] as number);
      while ((this.#slots[slot] as number) >= 0) slot = (slot + 1) & this.#mask;
      this.#slots[slot] = name;
    }
  }
}
