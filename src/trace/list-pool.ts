/** Lists of 32-bit integers in pages, so that a growing pool is never copied. */
const PAGE = 1 << 18;
/** A place is page × this + offset in the page. */
const PAGE_STEP = 2 ** 31;

export class ListPool {
  readonly #pages: Int32Array[] = [];
  #used = 0;

  /** Keeps the first `count` of `values`; returns their place. */
  add(values: Int32Array, count: number): number {
    let page = this.#pages.at(-1);
    if (page === undefined || this.#used + count + 1 > page.length) {
      page = new Int32Array(Math.max(PAGE, count + 1));
      this.#pages.push(page);
      this.#used = 0;
    }
    const at = this.#used;
    page[at] = count;
    for (let i = 0; i < count; i++) page[at + 1 + i] = values[i] as number;
    this.#used += count + 1;
    return (this.#pages.length - 1) * PAGE_STEP + at;
  }

  length(place: number): number {
    return (this.#pages[Math.floor(place / PAGE_STEP)] as Int32Array)[place % PAGE_STEP] as number;
  }

  /** The list: a view. */
  list(place: number): Int32Array {
    const page = this.#pages[Math.floor(place / PAGE_STEP)] as Int32Array;
    const at = place % PAGE_STEP;
    return page.subarray(at + 1, at + 1 + (page[at] as number));
  }
}
