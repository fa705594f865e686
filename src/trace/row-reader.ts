/** JSONL rows: 1-based lines (blank ones counted, not read), integers beyond 2^53 kept as strings. */
import type { JsonObject } from "../core/json.ts";
import { readLineBatches } from "../core/lines.ts";
import { parseLossless } from "./lossless-json.ts";
import { BadRow, notJson, type RowAccount } from "./row-account.ts";

/**
 * What a format does with one row: nothing returned = the row is used; a word = it is of that kind and skipped;
 * a thrown {@link BadRow} = refused.
 */
export type RowHandler<Row> = (row: Row, line: number) => string | undefined | void;

/**
 * Hands every row of a JSONL file to `onRow` and keeps the account. A row must be an object. `parse` is for formats that
 * know where large integers can stand.
 */
export async function readJsonlRows(
  path: string,
  account: RowAccount,
  onRow: RowHandler<JsonObject>,
  parse: (text: string) => unknown = parseLossless,
): Promise<void> {
  for await (const batch of readLineBatches(path)) {
    for (const { number, text } of batch) readRow(text, number, account, onRow, parse);
  }
}

/** Parses one line and hands it to `onRow`; a blank one is passed over. */
export function readRow(
  text: string,
  line: number,
  account: RowAccount,
  onRow: RowHandler<JsonObject>,
  parse: (text: string) => unknown,
): void {
  if (isBlank(text)) return;
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    account.refuse(line, notJson(error));
    return;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    account.refuse(line, `a row must be a JSON object, not ${kindOf(value)}`);
    return;
  }
  handleRow(account, onRow, value as JsonObject, line);
}

/** Runs one handler and books its outcome. */
export function handleRow<Row>(account: RowAccount, onRow: RowHandler<Row>, row: Row, line: number): void {
  let kind: string | undefined | void;
  try {
    kind = onRow(row, line);
  } catch (error) {
    if (!(error instanceof BadRow)) throw error;
    account.refuse(line, error.message);
    return;
  }
  if (kind === undefined) account.use();
  else account.skip(kind);
}

/** Empty or white space only. */
export function isBlank(text: string): boolean {
  return text.length === 0 || (text.charCodeAt(0) <= 32 && text.trim().length === 0);
}

/** A JSON value's kind, for messages. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  return `a ${typeof value}`;
}
