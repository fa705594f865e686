/**
 * A prompt as it grows: how many tokens it has and the names of its whole prefix blocks. Two conversations that began alike
 * carry equal names for as long as they are equal.
 */
import type { Tokens } from "../core/units.ts";

/** Hands out block names, unique in a trace. */
export class BlockNames {
  readonly blockTokens: Tokens;
  #next = 0;

  constructor(blockTokens: Tokens) {
    this.blockTokens = blockTokens;
  }

  take(): number {
    return this.#next++;
  }
}

export class Conversation {
  readonly #names: BlockNames;
  #blocks: readonly number[];
  #tokens: Tokens;

  constructor(names: BlockNames, blocks: readonly number[] = [], tokens: Tokens = 0) {
    this.#names = names;
    this.#blocks = blocks;
    this.#tokens = tokens;
  }

  get tokens(): Tokens {
    return this.#tokens;
  }

  /** Names of the blocks that are full: floor(tokens ÷ block). The rest belongs to nobody else. */
  get blocks(): readonly number[] {
    return this.#blocks;
  }

  /** New text at the end. A block that only now becomes full gets a name of its own. */
  append(tokens: Tokens): this {
    this.#tokens += tokens;
    const whole = Math.floor(this.#tokens / this.#names.blockTokens);
    if (whole > this.#blocks.length) {
      const fresh = Array.from({ length: whole - this.#blocks.length }, () => this.#names.take());
      this.#blocks = [...this.#blocks, ...fresh];
    }
    return this;
  }

  /** A second conversation that begins as this one stands now. */
  fork(): Conversation {
    return new Conversation(this.#names, this.#blocks, this.#tokens);
  }
}
