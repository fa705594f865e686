/** Growing columns of numbers. A million requests are a few typed arrays, not a million objects. NaN = not measured. */

/** The next capacity: doubling while small; large columns grow by half. What was never written takes no memory. */
function larger(capacity: number, least: number): number {
  return Math.max(least, capacity < 1 << 22 ? capacity * 2 : Math.ceil(capacity * 1.5));
}

export class NumberColumn {
  #data = new Float64Array(1024);
  #length = 0;

  push(value: number | null | undefined): void {
    if (this.#length === this.#data.length) this.#grow(this.#length + 1);
    this.#data[this.#length++] = value ?? NaN;
  }

  /** Sets the value at `index`; what lies between the end and that is NaN. */
  set(index: number, value: number): void {
    if (index >= this.#data.length) this.#grow(index + 1);
    if (index > this.#length) this.#data.fill(NaN, this.#length, index);
    this.#data[index] = value;
    if (index >= this.#length) this.#length = index + 1;
  }

  get length(): number {
    return this.#length;
  }

  /** NaN where nothing was set. */
  at(index: number): number {
    return index < this.#length ? (this.#data[index] as number) : NaN;
  }

  /** The values so far: a view, valid until the next push. */
  values(): Float64Array {
    return this.#data.subarray(0, this.#length);
  }

  #grow(least: number): void {
    const next = new Float64Array(larger(this.#data.length, least));
    next.set(this.#data);
    this.#data = next;
  }
}

export class IndexColumn {
  #data: Int32Array = new Int32Array(1024);
  #length = 0;

  push(value: number): void {
    if (this.#length === this.#data.length) this.#grow(this.#length + 1);
    this.#data[this.#length++] = value;
  }

  get length(): number {
    return this.#length;
  }

  at(index: number): number {
    return this.#data[index] as number;
  }

  values(): Int32Array {
    return this.#data.subarray(0, this.#length);
  }

  #grow(least: number): void {
    const next = new Int32Array(larger(this.#data.length, least));
    next.set(this.#data);
    this.#data = next;
  }
}

/** Groups 0…n−1 by `key[i]`: `order` holds the items group by group, each group in ascending order. */
export function groupBy(key: Int32Array, groups: number): { order: Int32Array; starts: Int32Array } {
  const starts = new Int32Array(groups + 1);
  for (const group of key) starts[group + 1] = (starts[group + 1] as number) + 1;
  for (let g = 0; g < groups; g++) starts[g + 1] = (starts[g + 1] as number) + (starts[g] as number);
  const next = starts.slice();
  const order = new Int32Array(key.length);
  for (let i = 0; i < key.length; i++) {
    const group = key[i] as number;
    const at = next[group] as number;
    order[at] = i;
    next[group] = at + 1;
  }
  return { order, starts };
}
