/**
 * A trie over sequences of symbols, in one open-addressing table of typed arrays: an edge is (node, symbol) → node.
 * Holds tens of millions of edges (a Map ends at 16.7 million), 12 bytes each at a load of at most 1/2.
 */
export class PrefixTrie {
  #mask = (1 << 12) - 1;
  #from: Int32Array = new Int32Array(1 << 12);
  #symbol: Int32Array = new Int32Array(1 << 12);
  #to: Int32Array = new Int32Array(1 << 12);
  #edges = 0;

  /** Nodes made so far, the root (0) counted in. */
  get size(): number {
    return this.#edges + 1;
  }

  /** Forgets everything; keeps its table unless it has become large. */
  clear(): void {
    this.#edges = 0;
    if (this.#mask < 1 << 14) {
      this.#to.fill(0);
      return;
    }
    this.#mask = (1 << 12) - 1;
    this.#from = new Int32Array(1 << 12);
    this.#symbol = new Int32Array(1 << 12);
    this.#to = new Int32Array(1 << 12);
  }

  /** The child of `node` along `symbol` (≥ 0), made if it is not there. A child's number exceeds all before it. */
  step(node: number, symbol: number): number {
    let at = slot(node, symbol, this.#mask);
    while (this.#to[at] !== 0) {
      if (this.#from[at] === node && this.#symbol[at] === symbol) return this.#to[at] as number;
      at = (at + 1) & this.#mask;
    }
    const child = ++this.#edges;
    this.#from[at] = node;
    this.#symbol[at] = symbol;
    this.#to[at] = child;
    if (this.#edges * 2 > this.#mask) this.#grow();
    return child;
  }

  #grow(): void {
    const [from, symbol, to] = [this.#from, this.#symbol, this.#to];
    const size = to.length * 2;
    this.#mask = size - 1;
    this.#from = new Int32Array(size);
    this.#symbol = new Int32Array(size);
    this.#to = new Int32Array(size);
    for (let old = 0; old < to.length; old++) {
      if (to[old] === 0) continue;
      let at = slot(from[old] as number, symbol[old] as number, this.#mask);
      while (this.#to[at] !== 0) at = (at + 1) & this.#mask;
      this.#from[at] = from[old] as number;
      this.#symbol[at] = symbol[old] as number;
      this.#to[at] = to[old] as number;
    }
  }
}

function slot(node: number, symbol: number, mask: number): number {
  // Two odd multipliers and a final mix: neighbouring nodes and symbols must not cluster.
  let hash = Math.imul(node, 0x9e3779b1) ^ Math.imul(symbol, 0x85ebca77);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0xc2b2ae3d);
  return (hash ^ (hash >>> 13)) & mask;
}

const MAX_MAP = 1 << 24;

/** Hands out even numbers from 0; tables that share one never give the same number twice. Odd ones are {@link plainSymbol}s. */
export class SymbolCounter {
  #next = 0;
  take(): number {
    const number = this.#next;
    this.#next += 2;
    return number;
  }
}

const MAX_PLAIN = 1 << 29;

/** The symbol of a name that is a small number itself, without a table; −1 for any other. */
export function plainSymbol(name: unknown): number {
  return typeof name === "number" && name >= 0 && name < MAX_PLAIN && Number.isInteger(name)
    ? name * 2 + 1
    : -1;
}

/** Numbers names; holds more names than one Map can. */
export class SymbolTable<Name> {
  readonly #counter: SymbolCounter;
  readonly #maps: Map<Name, number>[] = [new Map()];

  constructor(counter: SymbolCounter) {
    this.#counter = counter;
  }

  number(name: Name): number {
    for (const map of this.#maps) {
      const known = map.get(name);
      if (known !== undefined) return known;
    }
    let last = this.#maps.at(-1) as Map<Name, number>;
    if (last.size >= MAX_MAP - 1) {
      last = new Map();
      this.#maps.push(last);
    }
    const number = this.#counter.take();
    last.set(name, number);
    return number;
  }
}
