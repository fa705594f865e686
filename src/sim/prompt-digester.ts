/**
 * Digests prompt texts, remembering the latest: an agent's next prompt begins with its last one, and only what is new is
 * encoded. The result is the same as that of `digestPrompt(encode(text))`.
 */
import { digestPrompt, extendChain, startChain, type PromptDigest } from "./prompt-digest.ts";
import { encodeView } from "./tokenizer.ts";

/** A place in a known text where encoding may be taken up again: a token and a block end there. */
interface Checkpoint {
  readonly offset: number;
  readonly tokens: number;
  readonly a: number;
  readonly b: number;
}

interface Known {
  readonly text: string;
  readonly salt: string | null;
  readonly specials: boolean;
  readonly checkpoints: readonly Checkpoint[];
  readonly hashes: Float64Array;
}

/** Shorter texts are not worth remembering. */
const MIN_CHARS = 2000;
const MAX_KNOWN = 256;
const MAX_CHARS = 64 * 1024 * 1024;
const CHECKPOINT_BLOCKS = 32;
const SPACE = 32;

export class PromptDigester {
  readonly #block: number;
  /** Latest last. */
  readonly #known: Known[] = [];
  #chars = 0;

  constructor(block_size: number) {
    this.#block = block_size;
  }

  /** `specials`: the text is a rendered chat. `salt` as in {@link digestPrompt}. */
  digest(text: string, specials: boolean, salt: string | null = null): PromptDigest {
    if (text.length < MIN_CHARS) return digestPrompt(encodeView(text, specials).ids, this.#block, salt);
    const found = this.#find(text, specials, salt);
    const from = found?.checkpoint ?? { offset: 0, tokens: 0, ...startChain(salt) };
    const { ids, starts } = encodeView(from.offset === 0 ? text : text.slice(from.offset), specials);
    const tokens = from.tokens + ids.length;
    const hashes = new Float64Array(Math.floor(tokens / this.#block));
    let block = from.tokens / this.#block;
    if (found !== null) hashes.set(found.known.hashes.subarray(0, block));
    const checkpoints = found === null ? [] : found.known.checkpoints.slice(0, found.index + 1);
    const chain = { a: from.a, b: from.b, fill: 0 };
    for (let i = 0; i < ids.length; i++) {
      const hash = extendChain(chain, ids[i] as number, this.#block);
      if (hash === null) continue;
      hashes[block++] = hash;
      if (block % CHECKPOINT_BLOCKS !== 0 || i + 1 === ids.length) continue;
      const offset = from.offset + (starts[i + 1] as number);
      // Where a run of spaces is cut depends on what follows the run: no place to take up again.
      if (text.charCodeAt(offset - 1) === SPACE) continue;
      checkpoints.push({ offset, tokens: block * this.#block, a: chain.a, b: chain.b });
    }
    this.#remember({ text, salt, specials, checkpoints, hashes }, found?.known ?? null);
    return { tokens, block_size: this.#block, hashes, chain };
  }

  /** The known text with the longest common beginning, of those that look alike, and its last usable checkpoint. */
  #find(
    text: string,
    specials: boolean,
    salt: string | null,
  ): { known: Known; index: number; checkpoint: Checkpoint } | null {
    let best: { known: Known; index: number; checkpoint: Checkpoint } | null = null;
    for (let i = this.#known.length - 1; i >= 0; i--) {
      const known = this.#known[i] as Known;
      if (known.specials !== specials || known.salt !== salt) continue;
      const index = commonCheckpoint(known, text, best?.checkpoint.offset ?? 0);
      const checkpoint = known.checkpoints[index];
      if (checkpoint === undefined) continue;
      best = { known, index, checkpoint };
      // The whole of it but its end: there will be none better.
      if (index === known.checkpoints.length - 1) break;
    }
    return best;
  }

  #remember(known: Known, before: Known | null): void {
    // The text it continues is of no more use; one that it leaves early may be.
    const continued = before !== null && known.checkpoints.includes(before.checkpoints.at(-1) as Checkpoint);
    if (continued) this.#forget(this.#known.indexOf(before));
    this.#known.push(known);
    this.#chars += known.text.length;
    while (this.#known.length > MAX_KNOWN || (this.#chars > MAX_CHARS && this.#known.length > 1))
      this.#forget(0);
  }

  #forget(index: number): void {
    const [gone] = this.#known.splice(index, 1);
    this.#chars -= gone?.text.length ?? 0;
  }
}

/** Index of the last checkpoint beyond `offset` up to which (and one character more) both texts agree; −1 = none. */
function commonCheckpoint(known: Known, text: string, offset: number): number {
  const { checkpoints } = known;
  const agrees = (index: number): boolean => {
    const at = (checkpoints[index] as Checkpoint).offset;
    // Equality of slices compares memory; `startsWith` goes character by character, 25 times slower.
    return (
      text.charCodeAt(at) === known.text.charCodeAt(at) &&
      text.slice(0, at + 1) === known.text.slice(0, at + 1)
    );
  };
  const last = checkpoints.length - 1;
  if (last < 0 || (checkpoints[last] as Checkpoint).offset <= offset) return -1;
  if (agrees(last)) return last;
  // Most texts of other agents part before the first place that would be of use.
  let low = checkpoints.findIndex((checkpoint) => checkpoint.offset > offset);
  if (!agrees(low)) return -1;
  let high = last;
  while (low + 1 < high) {
    const middle = (low + high) >> 1;
    if (agrees(middle)) low = middle;
    else high = middle;
  }
  return low;
}
