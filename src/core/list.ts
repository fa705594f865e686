/**
 * A read-only list: what an array and a list that makes its items when they are asked for have in common. Traces and plans
 * of a million requests are lists over columns, so that they need not be held as objects.
 */
export interface List<T> extends Iterable<T> {
  readonly length: number;
  /** The item; negative positions count from the end; `undefined` beyond. Two calls may give two equal objects. */
  at(index: number): T | undefined;
  map<U>(of: (item: T, index: number) => U): U[];
  flatMap<U>(of: (item: T, index: number) => U | readonly U[]): U[];
  filter(test: (item: T, index: number) => boolean): T[];
  find(test: (item: T, index: number) => boolean): T | undefined;
  findIndex(test: (item: T, index: number) => boolean): number;
  some(test: (item: T, index: number) => boolean): boolean;
  every(test: (item: T, index: number) => boolean): boolean;
  forEach(use: (item: T, index: number) => void): void;
  slice(start?: number, end?: number): T[];
}

/** A list that is not held: items are made by {@link MadeList.make} from what is. */
export abstract class MadeList<T> implements List<T> {
  abstract readonly length: number;

  /** Makes the item at `index`, which is in [0, length). */
  protected abstract make(index: number): T;

  at(index: number): T | undefined {
    const at = index < 0 ? index + this.length : index;
    return at >= 0 && at < this.length ? this.make(at) : undefined;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let index = 0; index < this.length; index++) yield this.make(index);
  }

  map<U>(of: (item: T, index: number) => U): U[] {
    const items: U[] = [];
    for (let index = 0; index < this.length; index++) items.push(of(this.make(index), index));
    return items;
  }

  flatMap<U>(of: (item: T, index: number) => U | readonly U[]): U[] {
    return this.map(of).flat() as U[];
  }

  filter(test: (item: T, index: number) => boolean): T[] {
    const items: T[] = [];
    for (let index = 0; index < this.length; index++) {
      const item = this.make(index);
      if (test(item, index)) items.push(item);
    }
    return items;
  }

  find(test: (item: T, index: number) => boolean): T | undefined {
    return this.at(this.findIndex(test) >>> 0);
  }

  findIndex(test: (item: T, index: number) => boolean): number {
    for (let index = 0; index < this.length; index++) if (test(this.make(index), index)) return index;
    return -1;
  }

  some(test: (item: T, index: number) => boolean): boolean {
    return this.findIndex(test) !== -1;
  }

  every(test: (item: T, index: number) => boolean): boolean {
    return this.findIndex((item, index) => !test(item, index)) === -1;
  }

  forEach(use: (item: T, index: number) => void): void {
    for (let index = 0; index < this.length; index++) use(this.make(index), index);
  }

  slice(start = 0, end = this.length): T[] {
    const place = (index: number): number => Math.max(0, index < 0 ? index + this.length : index);
    const items: T[] = [];
    for (let index = place(start); index < Math.min(place(end), this.length); index++)
      items.push(this.make(index));
    return items;
  }
}
