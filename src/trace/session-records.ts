/**
 * Records of an agent's session log: JSONL, or (as in TraceLab's examples) pretty-printed JSON records under
 * `===== record 0001 =====` lines, with `#` comments before the first.
 */
import type { JsonObject } from "../core/json.ts";
import { readLineBatches } from "../core/lines.ts";
import type { Sample } from "./format.ts";
import { parseLossless } from "./lossless-json.ts";
import { isObject } from "./openai-messages.ts";
import { notJson, type RowAccount } from "./row-account.ts";
import { handleRow, isBlank, kindOf, readJsonlRows, type RowHandler } from "./row-reader.ts";

const SEPARATOR = /^=+ record \d+ =+\s*$/;

/** Hands every record, with the line it starts at, to `onRow` and keeps the account. */
export async function readSessionRecords(
  path: string,
  account: RowAccount,
  onRow: RowHandler<JsonObject>,
): Promise<void> {
  if (!(await hasSeparators(path))) return readJsonlRows(path, account, onRow);
  let block: string[] = [];
  let from = 0;
  const flush = (): void => {
    const text = block.join("\n");
    block = [];
    if (from === 0 || isBlank(text)) return;
    let value: unknown;
    try {
      value = parseLossless(text);
    } catch (error) {
      account.refuse(from, notJson(error));
      return;
    }
    if (isObject(value)) handleRow(account, onRow, value, from);
    else account.refuse(from, `a record must be a JSON object, not ${kindOf(value)}`);
  };
  for await (const batch of readLineBatches(path)) {
    for (const { number, text } of batch) {
      if (SEPARATOR.test(text)) {
        flush();
        from = number + 1;
      } else block.push(text);
    }
  }
  flush();
}

async function hasSeparators(path: string): Promise<boolean> {
  for await (const batch of readLineBatches(path)) {
    for (const { text } of batch) {
      if (isBlank(text) || text.startsWith("#")) continue;
      return SEPARATOR.test(text);
    }
  }
  return false;
}

/** The first records for detection, of either layout. */
export function sampleRecords(sample: Sample): JsonObject[] {
  if (!hasRecordMarks(sample)) return sample.rows.filter(isObject);
  // What detection sees of a pretty-printed record may be cut: whole ones only.
  return sample.head.split(/^=+ record \d+ =+\s*$/m).flatMap((text) => {
    try {
      const value = parseLossless(text);
      return isObject(value) ? [value] : [];
    } catch {
      return [];
    }
  });
}

/** Whether the file is pretty-printed records under separator lines. */
export function hasRecordMarks(sample: Sample): boolean {
  return sample.lines.some((line) => SEPARATOR.test(line));
}
