/** Prefix blocks of any size as blocks of another: what Mooncake's and AIPerf's rows need (512 tokens, ceil). */
import type { LengthPrompt } from "../trace-request.ts";

export class CoarseBlocks {
  readonly size: number;
  readonly #names = new Map<string, number>();
  #next = 0;
  #lost = 0;

  constructor(size: number) {
    this.size = size;
  }

  /** Prompts whose block size does not divide this one: their sharing could not be kept. */
  get lost(): number {
    return this.#lost;
  }

  /** ceil(tokens ÷ size) names: equal where all tokens up to a block's end have equal names, else new. */
  names(prompt: LengthPrompt): number[] {
    const count = Math.ceil(prompt.tokens / this.size);
    const block = prompt.block_tokens ?? 0;
    const fine = prompt.hash_ids !== null && block > 0 && this.size % block === 0;
    if (prompt.hash_ids !== null && prompt.hash_ids.length > 0 && !fine) this.#lost++;
    const ids = fine ? (prompt.hash_ids ?? []) : [];
    const each = fine ? this.size / block : 1;
    const names: number[] = [];
    let key: string | null = `${prompt.hash_scope === null ? "" : JSON.stringify(prompt.hash_scope)}`;
    for (let at = 0; at < count; at++) {
      const end = Math.min((at + 1) * this.size, prompt.tokens);
      // The last block may be cut; it is known if named blocks reach the prompt's end.
      const own = ids.slice(at * each, (at + 1) * each);
      const known =
        key !== null && own.length > 0 && Math.min((at * each + own.length) * block, prompt.tokens) >= end;
      if (!known) {
        key = null;
        names.push(this.#next++);
        continue;
      }
      const name = this.#name(
        `${key}/${own.map((id) => (typeof id === "string" ? `s${id}` : id)).join(",")}`,
      );
      names.push(name);
      key = String(name);
    }
    return names;
  }

  #name(key: string): number {
    let name = this.#names.get(key);
    if (name === undefined) {
      name = this.#next++;
      this.#names.set(key, name);
    }
    return name;
  }
}
