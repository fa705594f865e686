/**
 * CSV by column name, whatever its case: quotes (`""` inside), CRLF, blank lines, no last newline, a field with line
 * breaks. A row is known by the line on which it starts.
 */
import { readLineBatches } from "../core/lines.ts";
import { BadRow, type RowAccount } from "./row-account.ts";
import { MAX_NUMBER } from "./row-fields.ts";
import { handleRow, isBlank, type RowHandler } from "./row-reader.ts";

/** One CSV row: column name → text. */
export interface CsvRow {
  /** Whether the header has the column. */
  has(column: string): boolean;
  /** The text of a column; a missing or empty one is a {@link BadRow}. */
  text(column: string): string;
  /** The text, or `null` where the column does not exist or is empty. */
  optionalText(column: string): string | null;
  /** A finite decimal number ≥ min. */
  number(column: string, min?: number): number;
  /** An integer ≥ min; `12.0` is one. */
  integer(column: string, min?: number): number;
}

/**
 * Hands every data row to `onRow`. The first non-blank line names the columns; `required` ones must be there, further
 * ones are ignored. A row with more or fewer fields than the header is bad.
 */
export async function readCsvRows(
  path: string,
  account: RowAccount,
  required: readonly string[],
  onRow: RowHandler<CsvRow>,
): Promise<void> {
  let header: Header | null = null;
  let open: { line: number; text: string } | null = null;
  const take = (text: string, line: number): void => {
    const fields = splitCsvLine(text);
    if (header === null) {
      header = new Header(fields);
      for (const name of required) {
        const place = header.placeOf(name);
        if (place === NOWHERE) throw new BadHeader(line, `column "${name}" is missing`);
        if (place === TWICE) throw new BadHeader(line, `two columns are called "${name}"`);
      }
      return;
    }
    if (fields.length !== header.width) {
      account.refuse(line, `${fields.length} fields, the header has ${header.width}`);
      return;
    }
    handleRow(account, onRow, new Fields(header, fields), line);
  };
  try {
    for await (const batch of readLineBatches(path)) {
      for (const { number, text } of batch) {
        if (open !== null) {
          open.text += `\n${text}`;
          // An even number of quotes leaves the field open.
          if (!hasOpenQuote(text)) continue;
          take(open.text, open.line);
          open = null;
        } else if (!isBlank(text)) {
          if (text.includes('"') && hasOpenQuote(text)) open = { line: number, text };
          else take(text, number);
        }
      }
    }
    const last = open as { line: number; text: string } | null;
    if (last !== null) account.refuse(last.line, "a quote is opened and never closed");
  } catch (error) {
    if (!(error instanceof BadHeader)) throw error;
    account.refuse(error.line, error.message);
  }
}

/** Where a column stands that the header does not have. */
const NOWHERE = -1;
/** Where one stands that it has more than once: no telling which is meant. */
const TWICE = -2;

class Header {
  readonly width: number;
  readonly #places = new Map<string, number>();
  /** Names as formats spell them. */
  readonly #asked = new Map<string, number>();

  constructor(names: readonly string[]) {
    this.width = names.length;
    names.map(columnKey).forEach((key, at) => this.#places.set(key, this.#places.has(key) ? TWICE : at));
  }

  placeOf(column: string): number {
    let place = this.#asked.get(column);
    if (place === undefined) {
      place = this.#places.get(columnKey(column)) ?? NOWHERE;
      this.#asked.set(column, place);
    }
    return place;
  }
}

/** A column's name as it is compared. */
export function columnKey(name: string): string {
  return name.trim().toLowerCase();
}

class BadHeader extends Error {
  readonly line: number;
  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

function hasOpenQuote(text: string): boolean {
  let quotes = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) quotes++;
  return quotes % 2 === 1;
}

/** The fields of one CSV record. */
export function splitCsvLine(text: string): string[] {
  if (!text.includes('"')) return text.split(",");
  const fields: string[] = [];
  let at = 0;
  for (;;) {
    if (text.charCodeAt(at) === 34) {
      let value = "";
      let from = at + 1;
      for (;;) {
        const quote = text.indexOf('"', from);
        if (quote === -1) {
          value += text.slice(from);
          from = text.length;
          break;
        }
        value += text.slice(from, quote);
        from = quote + 1;
        if (text.charCodeAt(from) !== 34) break;
        value += '"';
        from++;
      }
      const comma = text.indexOf(",", from);
      fields.push(value + text.slice(from, comma === -1 ? text.length : comma));
      if (comma === -1) return fields;
      at = comma + 1;
    } else {
      const comma = text.indexOf(",", at);
      fields.push(text.slice(at, comma === -1 ? text.length : comma));
      if (comma === -1) return fields;
      at = comma + 1;
    }
  }
}

class Fields implements CsvRow {
  readonly #header: Header;
  readonly #fields: readonly string[];

  constructor(header: Header, fields: readonly string[]) {
    this.#header = header;
    this.#fields = fields;
  }

  has(column: string): boolean {
    return this.#header.placeOf(column) !== NOWHERE;
  }

  text(column: string): string {
    const value = this.optionalText(column);
    if (value === null) throw new BadRow(`"${column}" is empty`);
    return value;
  }

  optionalText(column: string): string | null {
    const at = this.#header.placeOf(column);
    if (at === TWICE) throw new BadRow(`two columns are called "${column}"`);
    const value = at === NOWHERE ? "" : (this.#fields[at] as string).trim();
    return value === "" ? null : value;
  }

  number(column: string, min = 0): number {
    const text = this.text(column);
    const value = /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(text) ? Number(text) : NaN;
    if (!(value >= min && value < MAX_NUMBER))
      throw new BadRow(`"${column}" must be a number ≥ ${min}, not ${JSON.stringify(text)}`);
    return value;
  }

  integer(column: string, min = 0): number {
    const value = this.number(column, min);
    if (!Number.isSafeInteger(value))
      throw new BadRow(`"${column}" must be an integer, not ${JSON.stringify(this.text(column))}`);
    return value;
  }
}
