/**
 * Places every output token at the instant it came, and every prompt at its first token: for rates and peaks over the
 * measured window. Tokens of ok and of cancelled requests count, those of failed ones do not.
 */
import type { Ms, Tokens } from "../core/units.ts";
import type { RequestRecord } from "../record/request-record.ts";
import type { Clip } from "./clip.ts";

/** Width of a bucket of the peak rate. */
export const BUCKET_MS = 1000;
/** Longer runs (116 days) have no peak rate. */
const MAX_BUCKETS = 10_000_000;

export class TokenClock {
  readonly #clip: Clip;
  /** Buckets are counted from the start of the window where it was set, else from t0. */
  readonly #origin: Ms;
  #buckets = new Float64Array(64);
  #used = 0;
  #output = 0;
  #input = 0;
  #outputKnown = false;
  #inputKnown = false;
  #requests = 0;

  constructor(clip: Clip) {
    this.#clip = clip;
    this.#origin = Number.isFinite(clip.from_ms) ? clip.from_ms : 0;
  }

  add(record: RequestRecord): void {
    if (record.status !== "ok" && record.status !== "cancelled") return;
    this.#requests++;
    this.#addInput(record);
    const { chunk_ms, first_token_ms, last_token_ms, end_ms } = record;
    const tokens = record.output_tokens ?? (record.chunks > 0 ? record.chunks : null);
    if (tokens === null) return;
    this.#outputKnown = true;
    if (tokens <= 0) return;
    if (chunk_ms !== undefined && chunk_ms.length > 0) this.#addChunks(chunk_ms, record.chunk_tokens, tokens);
    else if (first_token_ms !== null && last_token_ms !== null)
      this.#addEvenly(first_token_ms, last_token_ms, tokens);
    else if (end_ms !== null) this.#place(end_ms, tokens);
  }

  /** Output tokens in the window; `null` where requests ended but none told a count. */
  get outputTokens(): Tokens | null {
    return this.#outputKnown || this.#requests === 0 ? this.#output : null;
  }

  /** Prompt tokens whose first token came in the window; `null` where none told a count. */
  get inputTokens(): Tokens | null {
    return this.#inputKnown || this.#requests === 0 ? this.#input : null;
  }

  /** Most output tokens in one 1 s bucket; `null` without tokens. */
  get peakOutputTokens(): number | null {
    if (this.#used === 0) return null;
    let peak = 0;
    for (let i = 0; i < this.#used; i++) peak = Math.max(peak, this.#buckets[i] as number);
    return peak;
  }

  /** Output tokens by 1 s bucket, for a chart; the first bucket starts at `origin_ms`. */
  series(): { origin_ms: Ms; bucket_ms: Ms; tokens: Float64Array } {
    return { origin_ms: this.#origin, bucket_ms: BUCKET_MS, tokens: this.#buckets.slice(0, this.#used) };
  }

  #addInput(record: RequestRecord): void {
    if (record.prompt_tokens === null) return;
    this.#inputKnown = true;
    const at = record.first_token_ms ?? (record.status === "ok" ? record.end_ms : null);
    if (at !== null && at >= this.#clip.from_ms && at <= this.#clip.to_ms)
      this.#input += record.prompt_tokens;
  }

  #addChunks(chunkMs: readonly Ms[], chunkTokens: readonly Tokens[] | null, tokens: Tokens): void {
    let told = 0;
    if (chunkTokens !== null && chunkTokens.length === chunkMs.length)
      for (const count of chunkTokens) told += count;
    if (told > 0) {
      // Tokens that the chunks do not account for are spread over them in proportion, so that the sum is the count.
      const share = tokens / told;
      for (let i = 0; i < chunkMs.length; i++)
        this.#place(chunkMs[i] as number, (chunkTokens?.[i] as number) * share);
    } else {
      const each = tokens / chunkMs.length;
      for (let i = 0; i < chunkMs.length; i++) this.#place(chunkMs[i] as number, each);
    }
  }

  /** Without chunk times: one token at the first instant, the others evenly up to the last. */
  #addEvenly(first: Ms, last: Ms, tokens: Tokens): void {
    const gap = tokens > 1 ? (last - first) / (tokens - 1) : 0;
    for (let i = 0; i < tokens; i++) this.#place(first + gap * i, 1);
  }

  #place(at: Ms, tokens: number): void {
    if (at < this.#clip.from_ms || at > this.#clip.to_ms) return;
    this.#output += tokens;
    const bucket = Math.floor((at - this.#origin) / BUCKET_MS);
    if (bucket < 0 || bucket >= MAX_BUCKETS) return;
    if (bucket >= this.#buckets.length) {
      const larger = new Float64Array(Math.max(bucket + 1, this.#buckets.length * 2));
      larger.set(this.#buckets);
      this.#buckets = larger;
    }
    this.#buckets[bucket] = (this.#buckets[bucket] as number) + tokens;
    if (bucket >= this.#used) this.#used = bucket + 1;
  }
}
