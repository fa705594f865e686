/**
 * The fast path of our own format: a plain row goes from its bytes into the columns, without text or object on the way. It
 * takes a row only when `parseRequestRow` would take it, and then to the same effect; every other row (faulty ones
 * included) is left to that.
 */
import { constants } from "node:buffer";
import { JsonCursor } from "../json-cursor.ts";
import { MAX_NUMBER } from "../row-fields.ts";
import { FIELD, RowDraft, type TraceTable } from "../trace-table.ts";

type Kind =
  | "id"
  | "job"
  | "prompt"
  | "blocks"
  | "after"
  | "tools"
  | "tool name"
  | "tool ms"
  | "recorded"
  | "integer"
  | "number"
  | "name";

interface Key {
  readonly bit: number;
  /** With its quotes. */
  readonly bytes: Buffer;
  readonly kind: Kind;
  readonly field: number;
  readonly least: number;
}

/** Fields of a row that columns hold: [name, kind, field, least value]. */
const ROW = keyTable([
  ["request_id", "id"],
  ["job_id", "job"],
  ["turn", "integer", FIELD.turn, 0],
  ["arrival_ms", "number", FIELD.arrival_ms, 0],
  ["after", "after"],
  ["tool", "tools"],
  ["think_ms", "number", FIELD.think_ms, 0],
  ["prompt", "prompt"],
  ["prompt_tokens", "integer", FIELD.prompt_tokens, 1],
  ["hash_ids", "blocks"],
  ["block_tokens", "integer", FIELD.block_tokens, 1],
  ["hash_scope", "name", FIELD.hash_scope],
  ["max_tokens", "integer", FIELD.max_tokens, 1],
  ["expected_output_tokens", "integer", FIELD.expected_output_tokens, 1],
  ["temperature", "number", FIELD.temperature, 0],
  ["budget_ms", "number", FIELD.budget_ms, Number.MIN_VALUE],
  ["agent", "name", FIELD.agent],
  ["recorded", "recorded"],
]);
const RECORDED = keyTable([
  ["sent_ms", "number", FIELD.sent_ms, 0],
  ["first_token_ms", "number", FIELD.first_token_ms, 0],
  ["end_ms", "number", FIELD.end_ms, 0],
  ["prompt_tokens", "integer", FIELD.recorded_prompt_tokens, 0],
  ["output_tokens", "integer", FIELD.output_tokens, 0],
  ["cached_tokens", "integer", FIELD.cached_tokens, 0],
]);

const TOOL = keyTable([
  ["name", "tool name"],
  ["ms", "tool ms"],
]);

function keyTable(keys: readonly (readonly [string, Kind, number?, number?])[]): readonly Key[] {
  return keys.map(([name, kind, field = -1, least = 0], at) => ({
    bit: 1 << at,
    bytes: Buffer.from(`"${name}"`),
    kind,
    field,
    least,
  }));
}

const bitOf = (name: string): number =>
  (ROW.find(({ bytes }) => bytes.toString() === `"${name}"`) as Key).bit;
const NEEDED = bitOf("request_id") | bitOf("job_id") | bitOf("arrival_ms") | bitOf("max_tokens");

/** After so many rows that were not plain, one in so many is tried: a file of messages has none. */
const MISSES = 64;

export class RowScanner {
  readonly #table: TraceTable;
  readonly #cursor = new JsonCursor();
  readonly #draft = new RowDraft();
  /** Buffers of the draft, which grow. */
  readonly #blocks = { list: this.#draft.blocks };
  /** The order of the keys in the row before: rows of a file mostly have one. */
  readonly #order: Key[] = [];
  readonly #recordedOrder: Key[] = [];
  readonly #toolOrder: Key[] = [];
  #toolName = -1;
  #toolMs = NaN;
  /** Rows in a row that were not plain. */
  #misses = 0;
  #job = -1;
  #idFrom = 0;
  #idTo = 0;

  constructor(table: TraceTable) {
    this.#table = table;
  }

  /** Whether the row at bytes[from], which ends before a line feed, was plain and is now in the table. */
  scan(bytes: Buffer, from: number): boolean {
    if (this.#misses >= MISSES && this.#misses % MISSES !== 0) {
      this.#misses++;
      return false;
    }
    const taken = this.#take(bytes, from);
    this.#misses = taken ? 0 : this.#misses + 1;
    return taken;
  }

  #take(bytes: Buffer, from: number): boolean {
    const cursor = this.#cursor;
    const draft = this.#draft;
    cursor.start(bytes, from);
    draft.clear();
    const seen = this.#object(ROW, this.#order);
    cursor.space();
    if (cursor.lost || bytes[cursor.at] !== 0x0a || (seen & NEEDED) !== NEEDED || !this.#fits()) return false;
    const table = this.#table;
    const known = table.ids.size;
    // An id that is there already: the ordinary way says so.
    if (table.ids.intern(bytes, this.#idFrom, this.#idTo) !== known) return false;
    table.add(draft, this.#job);
    return true;
  }

  /** The members of an object; returns the bits of its keys. */
  #object(keys: readonly Key[], order: Key[]): number {
    const cursor = this.#cursor;
    let seen = 0;
    if (!cursor.take(0x7b)) {
      cursor.lost = true;
      return 0;
    }
    if (cursor.take(0x7d)) return 0;
    for (let position = 0; ; position++) {
      const key = this.#key(keys, order, position);
      if (key === undefined || (seen & key.bit) !== 0 || !cursor.take(0x3a)) {
        cursor.lost = true;
        return 0;
      }
      seen |= key.bit;
      cursor.space();
      this.#value(key);
      if (cursor.lost) return 0;
      if (cursor.take(0x2c)) continue;
      if (!cursor.take(0x7d)) cursor.lost = true;
      return seen;
    }
  }

  /** The next key: most likely the one that stood here in the row before. */
  #key(keys: readonly Key[], order: Key[], position: number): Key | undefined {
    const cursor = this.#cursor;
    cursor.space();
    const likely = order[position];
    if (likely !== undefined && this.#isKey(likely)) return likely;
    const key = keys.find((candidate) => this.#isKey(candidate));
    if (key !== undefined) order[position] = key;
    return key;
  }

  #isKey(key: Key): boolean {
    const { bytes, at } = this.#cursor;
    const wanted = key.bytes;
    for (let i = 0; i < wanted.length; i++) if (bytes[at + i] !== wanted[i]) return false;
    this.#cursor.at = at + wanted.length;
    return true;
  }

  #value(key: Key): void {
    const cursor = this.#cursor;
    switch (key.kind) {
      case "integer":
      case "number": {
        const value = cursor.number();
        if (
          value < key.least ||
          value >= MAX_NUMBER ||
          (key.kind === "integer" && value % 1 !== 0 && value === value)
        )
          cursor.lost = true;
        this.#draft.numbers[key.field] = value;
        return;
      }
      case "id":
        cursor.name();
        this.#idFrom = cursor.from;
        this.#idTo = cursor.to;
        if (cursor.to === cursor.from) cursor.lost = true;
        return;
      case "job":
        this.#takeJob();
        return;
      case "name":
        if (cursor.isNull()) return;
        cursor.name();
        if (!cursor.lost)
          this.#draft.numbers[key.field] = this.#table.names.intern(cursor.bytes, cursor.from, cursor.to);
        return;
      case "prompt":
        this.#takeText();
        return;
      case "blocks":
        if (cursor.isNull()) return;
        this.#draft.block_count = cursor.integers(this.#blocks);
        this.#draft.blocks = this.#blocks.list;
        return;
      case "after":
        this.#draft.parent_count = 0;
        if (!this.#list(() => this.#takeParent())) this.#draft.parent_count = -1;
        return;
      case "tools":
        this.#draft.tool_count = 0;
        if (!this.#list(() => this.#takeTool())) this.#draft.tool_count = -1;
        return;
      case "tool name":
        cursor.name();
        if (cursor.to > cursor.from && !cursor.lost)
          this.#toolName = this.#table.names.intern(cursor.bytes, cursor.from, cursor.to);
        return;
      case "tool ms":
        this.#toolMs = cursor.number();
        return;
      case "recorded":
        if (!cursor.isNull()) this.#takeRecorded();
        return;
    }
  }

  #takeJob(): void {
    const cursor = this.#cursor;
    const { jobs } = this.#table;
    cursor.name();
    if (cursor.lost || cursor.to === cursor.from) {
      cursor.lost = true;
      return;
    }
    // Rows of a job mostly stand together.
    if (this.#job < 0 || !jobs.equals(this.#job, cursor.bytes, cursor.from, cursor.to))
      this.#job = jobs.intern(cursor.bytes, cursor.from, cursor.to);
  }

  #takeText(): void {
    const cursor = this.#cursor;
    if (cursor.isNull()) return;
    cursor.text();
    // One that no string can hold: the ordinary way says so.
    if (cursor.to === cursor.from || cursor.to - cursor.from > constants.MAX_STRING_LENGTH)
      cursor.lost = true;
    this.#draft.text = cursor.bytes;
    this.#draft.text_from = cursor.from;
    this.#draft.text_to = cursor.to;
  }

  /** A list, item by item; false for `null`. */
  #list(takeItem: () => void): boolean {
    const cursor = this.#cursor;
    if (cursor.isNull()) return false;
    if (!cursor.take(0x5b)) cursor.lost = true;
    if (cursor.lost || cursor.take(0x5d)) return true;
    do {
      cursor.space();
      takeItem();
    } while (!cursor.lost && cursor.take(0x2c));
    if (!cursor.take(0x5d)) cursor.lost = true;
    return true;
  }

  /** The id of a row before this one; a later one, or none, is left to the ordinary way. */
  #takeParent(): void {
    const cursor = this.#cursor;
    cursor.name();
    const row = cursor.lost ? -1 : this.#table.ids.find(cursor.bytes, cursor.from, cursor.to);
    if (row < 0) cursor.lost = true;
    else this.#draft.addParent(row);
  }

  #takeTool(): void {
    this.#toolName = -1;
    this.#toolMs = NaN;
    this.#object(TOOL, this.#toolOrder);
    if (this.#toolName < 0 || Number.isNaN(this.#toolMs)) this.#cursor.lost = true;
    else this.#draft.addTool(this.#toolName, this.#toolMs);
  }

  #takeRecorded(): void {
    this.#object(RECORDED, this.#recordedOrder);
    const { numbers } = this.#draft;
    let told = false;
    for (let field: number = FIELD.sent_ms; field <= FIELD.cached_tokens; field++)
      told ||= !Number.isNaN(numbers[field]);
    // An object that tells nothing is not the same as none; ends before it is sent: refused by the ordinary way.
    if (!told || (numbers[FIELD.end_ms] as number) < (numbers[FIELD.sent_ms] as number))
      this.#cursor.lost = true;
  }

  /** Whether the fields go together. */
  #fits(): boolean {
    const { numbers, text, block_count } = this.#draft;
    if (Number.isNaN(numbers[FIELD.arrival_ms])) return false;
    const tokens = numbers[FIELD.prompt_tokens] as number;
    if ((text === null) === Number.isNaN(tokens)) return false;
    if (block_count < 0) return true;
    const whole = tokens / (numbers[FIELD.block_tokens] as number);
    return block_count === Math.floor(whole) || block_count === Math.ceil(whole);
  }
}
