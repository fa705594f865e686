/**
 * Gaps between chunks of a whole run: 100 million of them are kept exactly in 400 MB, because the log's times are whole
 * microseconds. A gap that is none (a log written by other code) moves the pool to doubles.
 */
import type { RequestRecord } from "../record/request-record.ts";
import { type Histogram, histogramOf } from "./histogram.ts";
import { describePool, forEach, type ValueBlock } from "./pool-quantile.ts";
import type { Distribution } from "../core/quantile.ts";
import { spreadGaps } from "./request/itl.ts";

const BLOCK = 1 << 20;
const FIRST_BLOCK = 1 << 12;
const PER_MS = 1000;
/** How far a difference of two doubles may lie from a whole microsecond, µs. */
const GRID = 1e-3;

/** Values in blocks: integers of µs as long as all are, doubles from the first that is not. */
class GapBlocks {
  readonly blocks: { values: Int32Array | Float64Array; tokens: Uint16Array | null; n: number }[] = [];
  readonly #weighted: boolean;
  #grid = true;

  constructor(weighted: boolean) {
    this.#weighted = weighted;
  }

  push(gap: number, tokens: number): void {
    let last = this.blocks[this.blocks.length - 1];
    let value = gap;
    if (this.#grid) {
      const scaled = gap * PER_MS;
      value = Math.round(scaled);
      if (Math.abs(scaled - value) > GRID || Math.abs(value) > 2147483647) {
        this.#grid = false;
        value = gap;
        last = undefined;
      }
    }
    if (last === undefined || last.n === last.values.length) {
      const size = this.blocks.length === 0 ? FIRST_BLOCK : BLOCK;
      last = {
        values: this.#grid ? new Int32Array(size) : new Float64Array(size),
        tokens: this.#weighted ? new Uint16Array(size) : null,
        n: 0,
      };
      this.blocks.push(last);
    }
    last.values[last.n] = value;
    if (last.tokens !== null) last.tokens[last.n] = tokens;
    last.n++;
  }

  /** As value blocks: each gap once, or spread over its tokens. */
  view(spread: boolean): ValueBlock[] {
    return this.blocks.map(({ values, tokens, n }) => ({
      values,
      n,
      unit: values instanceof Int32Array ? 1 / PER_MS : 1,
      tokens: spread ? tokens : null,
    }));
  }
}

export class GapPool {
  /** One token a chunk, or tokens a chunk unknown: the gap is the inter-token latency. */
  readonly #plain = new GapBlocks(false);
  /** Several tokens in the later chunk. */
  readonly #spread = new GapBlocks(true);
  /** Gaps before chunks without tokens, and what was made of them: rare, kept apart. */
  readonly #gapOnly = new GapBlocks(false);
  readonly #itlOnly = new GapBlocks(true);
  #chunkGap: { readonly key: string; readonly distribution: Distribution } | null = null;
  #told = 0;
  #untold = 0;

  /** Adds the gaps of one ok request. */
  add(record: RequestRecord): void {
    const { chunk_ms, chunk_tokens } = record;
    if (chunk_ms === undefined || chunk_ms.length < 2) return;
    this.#chunkGap = null;
    const known = chunk_tokens !== null && chunk_tokens.length === chunk_ms.length;
    if (!known) {
      this.#untold++;
      for (let i = 1; i < chunk_ms.length; i++)
        this.#plain.push((chunk_ms[i] as number) - (chunk_ms[i - 1] as number), 1);
      return;
    }
    this.#told++;
    if (chunk_tokens.some((tokens, i) => i > 0 && (tokens < 1 || tokens > 65535 || tokens % 1 !== 0))) {
      for (let i = 1; i < chunk_ms.length; i++)
        this.#gapOnly.push((chunk_ms[i] as number) - (chunk_ms[i - 1] as number), 1);
      spreadGaps(record, (gap, tokens) => this.#itlOnly.push(gap, Math.min(65535, Math.round(tokens))));
      return;
    }
    for (let i = 1; i < chunk_ms.length; i++) {
      const gap = (chunk_ms[i] as number) - (chunk_ms[i - 1] as number);
      const tokens = chunk_tokens[i] as number;
      if (tokens === 1) this.#plain.push(gap, 1);
      else this.#spread.push(gap, tokens);
    }
  }

  chunkGap(percentiles: readonly number[]): Distribution {
    const key = percentiles.join();
    if (this.#chunkGap?.key !== key) {
      const blocks = [...this.#plain.view(false), ...this.#spread.view(false), ...this.#gapOnly.view(false)];
      this.#chunkGap = { key, distribution: describePool(blocks, percentiles) };
    }
    return this.#chunkGap.distribution;
  }

  itl(percentiles: readonly number[]): Distribution {
    // One token a chunk throughout: the same values, so the passes over them are made once.
    if (this.#spread.blocks.length + this.#gapOnly.blocks.length === 0) return this.chunkGap(percentiles);
    return describePool(this.#itlBlocks(), percentiles);
  }

  /** Exact counts by bin, for a chart. */
  itlHistogram(): Histogram | null {
    const blocks = this.#itlBlocks();
    return histogramOf((visit) => forEach(blocks, visit));
  }

  #itlBlocks(): ValueBlock[] {
    return [...this.#plain.view(false), ...this.#spread.view(true), ...this.#itlOnly.view(true)];
  }

  /** Whether `itl` stands on told tokens a chunk or equals `chunk_gap`; `null` without gaps. */
  get itlBasis(): "chunk_tokens" | "chunk_gap" | "mixed" | null {
    if (this.#told === 0) return this.#untold === 0 ? null : "chunk_gap";
    return this.#untold === 0 ? "chunk_tokens" : "mixed";
  }
}
