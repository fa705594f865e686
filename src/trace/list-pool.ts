/**
 * Lists of 32-bit integers in pages, so that a growing pool is never copied. A list that begins like an earlier one (a prompt
 * that continues its agent's history) holds only what is its own, and where the rest is.
 */
const PAGE = 1 << 18;
/** A place is page × this + offset in the page. */
const PAGE_STEP = 2 ** 31;
/** Before the items: how many there are, how many of them are another list's, and that list's page and offset. */
const HEAD = 4;
/** Fewer than this are not worth a look elsewhere. */
const WORTH_SHARING = 8;

export class ListPool {
  readonly #pages: Int32Array[] = [];
  #used = 0;
  #scratch: Int32Array = new Int32Array(256);

  /** Keeps the first `count` of `values`, what they have in common with the list at `base` (NaN = none) once; returns the place. */
  add(values: Int32Array, count: number, base = NaN): number {
    const shared = Number.isNaN(base) ? 0 : this.#common(values, count, base);
    const own = count - shared;
    let page = this.#pages.at(-1);
    if (page === undefined || this.#used + own + HEAD > page.length) {
      page = new Int32Array(Math.max(PAGE, own + HEAD));
      this.#pages.push(page);
      this.#used = 0;
    }
    const at = this.#used;
    page[at] = count;
    page[at + 1] = shared;
    if (shared > 0) {
      const from = this.#owner(base, shared);
      page[at + 2] = pageOf(from);
      page[at + 3] = offsetOf(from);
    }
    for (let i = 0; i < own; i++) page[at + HEAD + i] = values[shared + i] as number;
    this.#used += own + HEAD;
    return (this.#pages.length - 1) * PAGE_STEP + at;
  }

  length(place: number): number {
    return (this.#pages[pageOf(place)] as Int32Array)[offsetOf(place)] as number;
  }

  /** The list: good until the next one is asked for or added. */
  list(place: number): Int32Array {
    let page = this.#pages[pageOf(place)] as Int32Array;
    let at = offsetOf(place);
    const count = page[at] as number;
    if (page[at + 1] === 0) return page.subarray(at + HEAD, at + HEAD + count);
    if (count > this.#scratch.length) this.#scratch = new Int32Array(count * 2);
    const list = this.#scratch;
    // From its end to its beginning, each part from the list that holds it.
    for (let end = count; end > 0;) {
      const shared = page[at + 1] as number;
      for (let i = shared; i < end; i++) list[i] = page[at + HEAD + i - shared] as number;
      end = Math.min(end, shared);
      const next = page[at + 2] as number;
      at = page[at + 3] as number;
      page = this.#pages[next] as Int32Array;
    }
    return list.subarray(0, count);
  }

  /** The list at `base`, or the one it has its first `shared` items from: equal lists must not make a long chain. */
  #owner(base: number, shared: number): number {
    let owner = base;
    for (;;) {
      const page = this.#pages[pageOf(owner)] as Int32Array;
      const at = offsetOf(owner);
      if ((page[at + 1] as number) < shared) return owner;
      owner = (page[at + 2] as number) * PAGE_STEP + (page[at + 3] as number);
    }
  }

  #common(values: Int32Array, count: number, base: number): number {
    if (count < WORTH_SHARING) return 0;
    const other = this.list(base);
    const most = Math.min(count, other.length);
    let same = 0;
    while (same < most && values[same] === other[same]) same++;
    return same < WORTH_SHARING ? 0 : same;
  }
}

function pageOf(place: number): number {
  return Math.floor(place / PAGE_STEP);
}

function offsetOf(place: number): number {
  return place % PAGE_STEP;
}
