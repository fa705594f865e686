/** Prompts as sequences of numbered symbols, so that a common prefix of prompts is a common prefix of sequences. */
import type { JsonObject } from "../core/json.ts";
import type { Tokens } from "../core/units.ts";
import { plainSymbol, SymbolCounter, SymbolTable } from "./prefix-trie.ts";
import { recordedPromptTokens, type BlockId, type TraceRequest } from "./trace-request.ts";

/** Step of comparison of texts, characters. */
export const TEXT_STEP = 32;
/** Where no length was recorded. */
const CHARS_PER_TOKEN = 4;

export interface SymbolPrompt {
  readonly kind: "blocks" | "ids" | "text";
  /** Good until the next prompt is asked for. */
  readonly symbols: ArrayLike<number>;
  /** The whole prompt. */
  readonly tokens: Tokens;
  /** Length of the i-th symbol: tokens for blocks and ids, characters for text. */
  width(i: number): number;
  /** Tokens in a common beginning of this width. */
  tokensOf(width: number): Tokens;
}

interface Chunks {
  readonly symbols: readonly number[];
  /** Characters in all; every chunk but the last has {@link TEXT_STEP}. */
  readonly chars: number;
}

export class PromptSymbols {
  readonly #counter = new SymbolCounter();
  readonly #scopes = new Map<string | null, SymbolTable<BlockId>>();
  readonly #ids = new SymbolTable<number>(this.#counter);
  readonly #texts = new SymbolTable<number>(this.#counter);
  #symbols = new Int32Array(1024);
  /** Messages repeat from turn to turn; readers often share the objects. */
  readonly #messages = new WeakMap<JsonObject, Chunks>();

  /** `null` for a bare length: nothing is known of its content. */
  of(request: TraceRequest): SymbolPrompt | null {
    const { prompt } = request;
    switch (prompt.kind) {
      case "length":
        return prompt.hash_ids === null || prompt.block_tokens === null
          ? null
          : this.#blocks(prompt.hash_ids, prompt.block_tokens, prompt.tokens, prompt.hash_scope);
      case "ids":
        return {
          kind: "ids",
          symbols: prompt.ids.map((id) => this.#ids.number(id)),
          tokens: prompt.ids.length,
          width: () => 1,
          tokensOf: (width) => width,
        };
      case "text":
        return textPrompt([this.#chunk(prompt.text)], recordedPromptTokens(request));
      case "messages": {
        // Tools stand before the messages in the usual chat templates.
        const parts = [...(prompt.tools ?? []), ...prompt.messages].map((part) => this.#message(part));
        return textPrompt(parts, recordedPromptTokens(request));
      }
    }
  }

  #blocks(ids: readonly BlockId[], blockTokens: Tokens, tokens: Tokens, scope: string | null): SymbolPrompt {
    const symbols = this.#buffer(ids.length);
    let table: SymbolTable<BlockId> | null = null;
    for (let i = 0; i < ids.length; i++) {
      const id = ids[i] as BlockId;
      // Names that hold in the whole file and are small numbers (most traces) need no table.
      const plain = scope === null ? plainSymbol(id) : -1;
      symbols[i] = plain === -1 ? (table ??= this.#table(scope)).number(id) : plain;
    }
    return {
      kind: "blocks",
      symbols,
      tokens,
      // The last block may be cut where the blocks cover the ceil of tokens ÷ block.
      width: (i) => Math.max(0, Math.min(blockTokens, tokens - i * blockTokens)),
      tokensOf: (width) => width,
    };
  }

  #table(scope: string | null): SymbolTable<BlockId> {
    const table = this.#scopes.get(scope) ?? new SymbolTable<BlockId>(this.#counter);
    this.#scopes.set(scope, table);
    return table;
  }

  #buffer(length: number): Int32Array {
    if (length > this.#symbols.length) this.#symbols = new Int32Array(2 * length);
    return this.#symbols.subarray(0, length);
  }

  #message(message: JsonObject): Chunks {
    let chunks = this.#messages.get(message);
    if (chunks === undefined) {
      chunks = this.#chunk(JSON.stringify(message));
      this.#messages.set(message, chunks);
    }
    return chunks;
  }

  #chunk(text: string): Chunks {
    const symbols: number[] = [];
    for (let at = 0; at < text.length; at += TEXT_STEP) {
      symbols.push(this.#texts.number(hashChars(text, at, Math.min(at + TEXT_STEP, text.length))));
    }
    return { symbols, chars: text.length };
  }
}

function textPrompt(parts: readonly Chunks[], recorded: Tokens | null): SymbolPrompt {
  const symbols: number[] = [];
  const widths: number[] = [];
  let chars = 0;
  for (const part of parts) {
    part.symbols.forEach((symbol, i) => {
      symbols.push(symbol);
      widths.push(Math.min(TEXT_STEP, part.chars - i * TEXT_STEP));
    });
    chars += part.chars;
  }
  const tokens = recorded ?? Math.ceil(chars / CHARS_PER_TOKEN);
  return {
    kind: "text",
    symbols,
    tokens,
    width: (i) => widths[i] as number,
    tokensOf: (width) => (chars === 0 ? 0 : Math.floor((tokens * width) / chars)),
  };
}

/** 53 bits of two FNV-1a hashes with different offsets, the length mixed in. */
function hashChars(text: string, from: number, to: number): number {
  let a = 0x811c9dc5 ^ (to - from);
  let b = 0x9e3779b9;
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x85ebca6b) ^ (b >>> 13);
  }
  return (a >>> 0) * 0x200000 + (b >>> 11);
}
