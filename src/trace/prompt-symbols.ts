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
  /** Text: the whole width, and the parts it is made of where they are several. */
  width = 0;
  parts: readonly Chunks[] | null = null;

  /** Tokens in the first `matched` symbols. */
  tokensOf(matched: number): Tokens {
    if (matched === 0) return 0;
    // The last block may be cut where the blocks cover the ceil of tokens ÷ block.
    if (this.kind === "blocks") return Math.max(0, Math.min(matched * this.block_tokens, this.tokens));
    if (this.kind === "ids") return matched;
    return this.width === 0 ? 0 : Math.floor((this.tokens * this.#widthOf(matched)) / this.width);
  }

  /** Width of the first `matched` symbols: the last of each part may be shorter than a step. */
  #widthOf(matched: number): number {
    if (this.parts === null) return Math.min(matched * TEXT_STEP, this.width);
    let width = 0;
    let left = matched;
    for (const { symbols, chars } of this.parts) {
      if (left <= symbols.length) return width + Math.min(left * TEXT_STEP, chars);
      width += chars;
      left -= symbols.length;
    }
    return width;
  }
}

interface Chunks {
  readonly symbols: Float64Array;
  readonly chars: number;
}

/** Messages whose symbols are remembered: a history comes back turn by turn. */
const REMEMBERED = 20_000;

export class PromptSymbols {
  readonly #table: TraceTable;
  readonly #prompt = new SymbolPrompt();
  readonly #names = new Map<BlockId, number>();
  #buffer: Float64Array = new Float64Array(1024);
  /** Messages repeat from turn to turn, as the same objects or as the same text. */
  readonly #messages = new WeakMap<JsonObject, Chunks>();
  readonly #messageTexts = new Map<string, Chunks>();
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
    prompt.parts = null;
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

  #parts(messages: readonly JsonObject[], recorded: Tokens): SymbolPrompt {
    const parts = messages.map((message) => this.#message(message));
    let [count, chars] = [0, 0];
    for (const part of parts) count += part.symbols.length;
    const symbols = this.#room(count);
    let at = 0;
    for (const part of parts) {
      symbols.set(part.symbols, at);
      at += part.symbols.length;
      chars += part.chars;
    }
    const tokens = Number.isNaN(recorded) ? Math.ceil(chars / CHARS_PER_TOKEN) : recorded;
    const prompt = this.#set("text", "messages", count, symbols, tokens);
    prompt.width = chars;
    prompt.parts = parts;
    return prompt;
  }

  #message(message: JsonObject): Chunks {
    const known = this.#messages.get(message);
    if (known !== undefined) return known;
    const text = JSON.stringify(message);
    let chunks = this.#messageTexts.get(text);
    if (chunks === undefined) {
      chunks = chunksOf(text);
      if (this.#messageTexts.size >= REMEMBERED) this.#messageTexts.clear();
      this.#messageTexts.set(text, chunks);
    }
    this.#messages.set(message, chunks);
    return chunks;
  }

  #room(length: number): Float64Array {
    if (length > this.#buffer.length) this.#buffer = new Float64Array(2 * length);
    return this.#buffer;
  }
}

function chunksOf(text: string): Chunks {
  const symbols = new Float64Array(Math.ceil(text.length / TEXT_STEP));
  for (let i = 0, at = 0; i < symbols.length; i++, at += TEXT_STEP)
    symbols[i] = hashChars(text, at, Math.min(at + TEXT_STEP, text.length));
  return { symbols, chars: text.length };
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
