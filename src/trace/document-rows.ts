/** Rows of a document that is not made of lines: each is named by its place in it (`requests[3]`), not by a line. */
import { BadRow, type RowAccount } from "./row-account.ts";
import { kindOf, type RowHandler } from "./row-reader.ts";
import { isObject } from "./openai-messages.ts";
import type { JsonObject } from "../core/json.ts";

/** Hands one item, which must be an object, to `onRow` and keeps the account, as `readJsonlRows` does for lines. */
export function handleItem(
  account: RowAccount,
  where: string,
  item: unknown,
  onRow: RowHandler<JsonObject>,
  file?: string,
): void {
  let kind: string | undefined | void;
  try {
    if (!isObject(item)) throw new BadRow(`must be a JSON object, not ${kindOf(item)}`);
    kind = onRow(item, 0);
  } catch (error) {
    if (!(error instanceof BadRow)) throw error;
    account.refuse(null, `${where}: ${error.message}`, file);
    return;
  }
  if (kind === undefined) account.use();
  else account.skip(kind);
}

/** Hands a document, which must be an object, to `read`; a fault of its is the whole file's. */
export function handleDocument(
  account: RowAccount,
  document: unknown,
  read: (document: JsonObject) => void,
  file?: string,
): void {
  try {
    if (!isObject(document)) throw new BadRow(`must be a JSON object, not ${kindOf(document)}`);
    read(document);
  } catch (error) {
    if (!(error instanceof BadRow)) throw error;
    account.refuse(null, error.message, file);
  }
}

/** An array inside a document, else the fault that it is none. */
export function arrayAt(value: unknown, where: string): readonly unknown[] {
  if (Array.isArray(value)) return value as unknown[];
  throw new BadRow(`"${where}" must be an array, not ${value === undefined ? "missing" : kindOf(value)}`);
}
