/** Prefix blocks of any size as blocks of another: what Mooncake's and AIPerf's rows need (512 tokens, ceil). */
import { createHash } from "node:crypto";
import type { Tokens } from "../../core/units.ts";
import type { BlockId, TracePrompt } from "../trace-request.ts";

/** The beginnings a prompt is known by: named blocks, or its tokens, which are blocks of one. */
interface Named {
  readonly ids: readonly BlockId[];
  readonly block: Tokens;
  readonly scope: string | null;
}

const UNNAMED: Named = { ids: [], block: 1, scope: null };

export class CoarseBlocks {
  readonly size: Tokens;
  readonly #names = new Map<string, number>();
  #next = 0;
  #lost = 0;
  #finest: Tokens = Infinity;
  #unnamed = 0;

  constructor(size: Tokens) {
    this.size = size;
  }

  /** What the blocks written so far do not say of the sharing, one line each. */
  notes(): string[] {
    return [
      ...(this.#lost > 0
        ? [`${this.#lost} prompts have blocks that do not make up ${this.size} tokens; their sharing is lost`]
        : []),
      ...(this.#finest < this.size
        ? [
            `sharing is kept in whole blocks of ${this.size} tokens; the source tells it ${this.#finest === 1 ? "token by token" : `in blocks of ${this.#finest}`}`,
          ]
        : []),
      ...(this.#unnamed > 0
        ? [`${this.#unnamed} prompts get blocks of their own, since nothing tells what they share`]
        : []),
    ];
  }

  /** ceil(tokens ÷ size) names: equal where all tokens up to a block's end have equal names, else new. */
  names(prompt: TracePrompt, tokens: Tokens): number[] {
    const { ids, block, scope } = this.#named(prompt);
    const each = this.size / block;
    const names: number[] = [];
    let key: string | null = scope === null ? "" : JSON.stringify(scope);
    for (let at = 0; at < Math.ceil(tokens / this.size); at++) {
      const end = Math.min((at + 1) * this.size, tokens);
      // The last block may be cut; it is known if named blocks reach the prompt's end.
      const own = ids.slice(at * each, (at + 1) * each);
      const known =
        key !== null && own.length > 0 && Math.min((at * each + own.length) * block, tokens) >= end;
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

  #named(prompt: TracePrompt): Named {
    if (prompt.kind === "ids") {
      this.#finest = 1;
      return { ids: prompt.ids, block: 1, scope: null };
    }
    if (prompt.kind !== "length" || prompt.hash_ids === null) {
      if (prompt.kind === "length") this.#unnamed++;
      return UNNAMED;
    }
    const block = prompt.block_tokens ?? 0;
    if (block === 0 || this.size % block !== 0) {
      if (prompt.hash_ids.length > 0) this.#lost++;
      return UNNAMED;
    }
    this.#finest = Math.min(this.#finest, block);
    return { ids: prompt.hash_ids, block, scope: prompt.hash_scope };
  }

  #name(told: string): number {
    // Many ids make a long key, of which a digest says as much.
    const key = told.length > 100 ? createHash("sha256").update(told).digest("base64") : told;
    let name = this.#names.get(key);
    if (name === undefined) {
      name = this.#next++;
      this.#names.set(key, name);
    }
    return name;
  }
}
