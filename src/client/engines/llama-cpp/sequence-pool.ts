/**
 * The sequences of one context: those that wait get one in the order in which they came, and each the one that already holds most
 * of its prompt; among equals the one that was used longest ago, so that what was used lately stays.
 */
import type { LlamaSequence } from "./llama-library.ts";

interface Waiting {
  readonly ids: readonly number[];
  readonly take: (sequence: LlamaSequence) => void;
}

export class SequencePool {
  /** The one used longest ago first. */
  readonly #free: LlamaSequence[];
  readonly #waiting: Waiting[] = [];
  readonly #bySharing: boolean;

  constructor(sequences: readonly LlamaSequence[], bySharing: boolean) {
    this.#free = [...sequences];
    this.#bySharing = bySharing;
  }

  /** `take` is called once, inside this call or later. Returns how to leave the line: `false` if it was its turn already. */
  claim(ids: readonly number[], take: (sequence: LlamaSequence) => void): () => boolean {
    const waiting: Waiting = { ids, take };
    this.#waiting.push(waiting);
    this.#serve();
    return () => {
      const at = this.#waiting.indexOf(waiting);
      if (at === -1) return false;
      this.#waiting.splice(at, 1);
      return true;
    };
  }

  release(sequence: LlamaSequence): void {
    this.#free.push(sequence);
    this.#serve();
  }

  #serve(): void {
    while (this.#free.length > 0) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      const [sequence] = this.#free.splice(this.#best(next.ids), 1);
      next.take(sequence as LlamaSequence);
    }
  }

  #best(ids: readonly number[]): number {
    if (!this.#bySharing) return 0;
    let best = 0;
    let most = 0;
    this.#free.forEach((sequence, at) => {
      const shared =
        sequence.nextTokenIndex === 0 ? 0 : sequence.compareContextTokens(ids).firstDifferentIndex;
      if (shared <= most) return;
      most = shared;
      best = at;
    });
    return best;
  }
}
