/**
 * Tokens of each payload chunk, where the stream tells: from a count in the chunk (token ids, log probabilities) or from the
 * growth of a cumulative usage. One chunk that is not told makes the whole list `null`, because the tokens could not be
 * placed in time; the exception is a run of untold chunks across which the usage grew by exactly one a chunk.
 */
import type { Tokens } from "../core/units.ts";

export class ChunkTokenCounter {
  readonly #counts: Tokens[] = [];
  #lost = false;
  /** Payload chunks since the last one that was told. */
  #untold = 0;
  /** The cumulative count at the last payload chunk that had one. */
  #cumulative: Tokens = 0;
  /** Told by chunks without payload (a character not yet complete); they belong to the next payload. */
  #pending: Tokens = 0;
  #own: Tokens = 0;
  #ownTold = false;

  /** An event without payload. */
  silent(own: Tokens | null): void {
    if (own === null || own === 0) return;
    this.#ownTold = true;
    this.#own += own;
    this.#pending += own;
  }

  /** A payload chunk: `own` tokens of its own if it tells, `cumulative` output tokens so far if it tells. */
  payload(own: Tokens | null, cumulative: Tokens | null): void {
    if (own !== null) {
      this.#ownTold = true;
      this.#own += own;
    }
    if (this.#lost) return;
    if (own !== null) {
      // A list of ids that is empty from the start is one that the server does not fill.
      if (this.#untold > 0 || (own + this.#pending === 0 && this.#counts.length === 0)) this.#lost = true;
      this.#counts.push(own + this.#pending);
      this.#pending = 0;
      if (cumulative !== null) this.#cumulative = cumulative;
      return;
    }
    if (cumulative === null) {
      // A stream whose first payload tells nothing does not tell at all.
      if (this.#counts.length === 0) this.#lost = true;
      this.#untold++;
      return;
    }
    // A payload of no tokens at the start: the count lags, or is 0 until the end.
    if (cumulative === 0 && this.#counts.length === 0) this.#lost = true;
    const grown = cumulative - this.#cumulative;
    this.#cumulative = cumulative;
    if (this.#untold === 0 && grown >= 0) this.#counts.push(grown);
    else if (grown === this.#untold + 1) {
      for (let i = 0; i < grown; i++) this.#counts.push(1);
    } else this.#lost = true;
    this.#untold = 0;
  }

  /** Tokens a payload chunk, or `null` where the stream did not tell for each. */
  get counts(): Tokens[] | null {
    return this.#lost || this.#untold > 0 || this.#counts.length === 0 ? null : this.#counts;
  }

  /** All tokens told by the chunks themselves; `null` if none did, or not all. */
  get ownTotal(): Tokens | null {
    return this.#ownTold && !this.#lost ? this.#own : null;
  }
}
