/** Prompts as sequences of symbols, so that a common beginning of prompts is a common beginning of sequences. */
import type { JsonObject } from "../core/json.ts";
import type { Tokens } from "../core/units.ts";
import { TEXT_STEP } from "./prefix-runs.ts";
import type { TextPool } from "./text-pool.ts";
import { type BlockId, recordedPromptTokens, type TraceRequest } from "./trace-request.ts";
import { FIELD, type TraceTable } from "./trace-table.ts";

/** Where no length was recorded. */
const CHARS_PER_TOKEN = 4;

export type ContentKind = "blocks" | "ids" | "text";

/** One prompt; the next one asked for takes its place. */
export class SymbolPrompt {
  kind: ContentKind = "blocks";
  /** Prompts of different spaces share nothing. */
  space = "";
  count = 0;
  /** The symbols, finite numbers; `null` = a text of the table's pool, at `text`. */
  numbers: ArrayLike<number> | null = null;
  text = 0;
  /** The whole prompt. */
  tokens: Tokens = 0;
  /** Blocks: tokens in one. */
  block_tokens: Tokens = 1;
  /** Text: the whole width, and the width of the first i + 1 symbols where it is not i + 1 steps. */
  width = 0;
  widths: readonly number[] | null = null;

  /** Tokens in the first `matched` symbols. */
  tokensOf(matched: number): Tokens {
    if (matched === 0) return 0;
    // The last block may be cut where the blocks cover the ceil of tokens ÷ block.
    if (this.kind === "blocks") return Math.max(0, Math.min(matched * this.block_tokens, this.tokens));
    if (this.kind === "ids") return matched;
    const width = this.widths?.[matched - 1] ?? Math.min(matched * TEXT_STEP, this.width);
    return this.width === 0 ? 0 : Math.floor((this.tokens * width) / this.width);
  }
}

interface Chunks {
  readonly symbols: readonly number[];
  readonly chars: number;
}

export class PromptSymbols {
  readonly #table: TraceTable;
  readonly #prompt = new SymbolPrompt();
  readonly #names = new Map<BlockId, number>();
  #buffer: Float64Array = new Float64Array(1024);
  /** Messages repeat from turn to turn; readers often share the objects. */
  readonly #messages = new WeakMap<JsonObject, Chunks>();
  /** Places of texts that rows of objects hold. */
  readonly #texts = new Map<number, number>();

  constructor(table: TraceTable) {
    this.#table = table;
  }

  /** Where the texts are. */
  get pool(): TextPool {
    return this.#table.texts;
  }

  /** The prompt of a row; `null` for a bare length: nothing is known of its content. */
  of(row: number): SymbolPrompt | null {
    const table = this.#table;
    const blocks = table.blocks(row);
    if (blocks !== null) {
      const scope = table.number(FIELD.hash_scope, row);
      return this.#blocks(
        blocks,
        blocks.length,
        table.number(FIELD.prompt_tokens, row),
        table.number(FIELD.block_tokens, row),
        Number.isNaN(scope) ? null : table.names.text(scope),
      );
    }
    const text = table.textPlace(row);
    if (!Number.isNaN(text)) return this.#text(text, table.recordedPromptTokens(row), null);
    const whole = table.whole(row);
    return whole === null ? null : this.#whole(row, whole);
  }

  #whole(row: number, request: TraceRequest): SymbolPrompt | null {
    const { prompt } = request;
    const recorded = recordedPromptTokens(request) ?? NaN;
    switch (prompt.kind) {
      case "length": {
        const { hash_ids, block_tokens } = prompt;
        if (hash_ids === null || block_tokens === null) return null;
        const buffer = this.#room(hash_ids.length);
        for (let i = 0; i < hash_ids.length; i++) buffer[i] = this.#name(hash_ids[i] as BlockId);
        return this.#blocks(buffer, hash_ids.length, prompt.tokens, block_tokens, prompt.hash_scope);
      }
      case "ids":
        return this.#set("ids", "ids", prompt.ids.length, prompt.ids, prompt.ids.length);
      case "text": {
        let place = this.#texts.get(row);
        if (place === undefined) {
          place = this.#table.texts.addText(prompt.text);
          this.#texts.set(row, place);
        }
        return this.#text(place, recorded, prompt.text.length);
      }
      case "messages":
        // Tools stand before the messages in the usual chat templates.
        return this.#parts([...(prompt.tools ?? []), ...prompt.messages], recorded);
    }
  }

  #set(
    kind: ContentKind,
    space: string,
    count: number,
    numbers: ArrayLike<number> | null,
    tokens: Tokens,
  ): SymbolPrompt {
    const prompt = this.#prompt;
    prompt.kind = kind;
    prompt.space = space;
    prompt.count = count;
    prompt.numbers = numbers;
    prompt.tokens = tokens;
    prompt.widths = null;
    return prompt;
  }

  #blocks(
    names: ArrayLike<number>,
    count: number,
    tokens: Tokens,
    blockTokens: Tokens,
    scope: string | null,
  ): SymbolPrompt {
    const space = scope === null ? "blocks" : `blocks ${scope}`;
    const prompt = this.#set("blocks", space, count, names, tokens);
    prompt.block_tokens = blockTokens;
    return prompt;
  }

  /** A name's symbol: itself where it is an integer ≥ 0, else −1, −2, ... */
  #name(name: BlockId): number {
    if (typeof name === "number" && name >= 0) return name;
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const symbol = -1 - this.#names.size;
    this.#names.set(name, symbol);
    return symbol;
  }

  #text(place: number, recorded: Tokens, chars: number | null): SymbolPrompt {
    const bytes = this.pool.bytes(place);
    const tokens = Number.isNaN(recorded)
      ? Math.ceil((chars ?? this.pool.text(place).length) / CHARS_PER_TOKEN)
      : recorded;
    const prompt = this.#set("text", "text", Math.ceil(bytes / TEXT_STEP), null, tokens);
    prompt.text = place;
    prompt.width = bytes;
    return prompt;
  }

  #parts(parts: readonly JsonObject[], recorded: Tokens): SymbolPrompt {
    const symbols: number[] = [];
    const widths: number[] = [];
    let chars = 0;
    for (const part of parts) {
      const chunks = this.#message(part);
      for (const symbol of chunks.symbols) {
        symbols.push(symbol);
        widths.push(Math.min((widths.at(-1) ?? 0) + TEXT_STEP, chars + chunks.chars));
      }
      chars += chunks.chars;
    }
    const tokens = Number.isNaN(recorded) ? Math.ceil(chars / CHARS_PER_TOKEN) : recorded;
    const prompt = this.#set("text", "messages", symbols.length, symbols, tokens);
    prompt.width = chars;
    prompt.widths = widths;
    return prompt;
  }

  #message(message: JsonObject): Chunks {
    let chunks = this.#messages.get(message);
    if (chunks === undefined) {
      const text = JSON.stringify(message);
      const symbols: number[] = [];
      for (let at = 0; at < text.length; at += TEXT_STEP)
        symbols.push(hashChars(text, at, Math.min(at + TEXT_STEP, text.length)));
      chunks = { symbols, chars: text.length };
      this.#messages.set(message, chunks);
    }
    return chunks;
  }

  #room(length: number): Float64Array {
    if (length > this.#buffer.length) this.#buffer = new Float64Array(2 * length);
    return this.#buffer;
  }
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
