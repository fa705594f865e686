/** Rows of a JSONL dataset, each checked by a schema; a bad one is refused by its line. */
import type { z } from "zod";
import { UserError } from "../../core/failure.ts";
import { readLineBatches } from "../../core/lines.ts";

export interface JsonRow<T> {
  readonly line: number;
  readonly value: T;
}

export async function readJsonRows<T>(path: string, schema: z.ZodType<T>): Promise<JsonRow<T>[]> {
  const rows: JsonRow<T>[] = [];
  for await (const batch of readLineBatches(path)) {
    for (const { number, text } of batch) {
      if (text.trim() === "") continue;
      let raw: unknown;
      try {
        raw = JSON.parse(text);
      } catch (error) {
        throw new UserError(`${path}:${number}: not JSON (${(error as Error).message})`);
      }
      const parsed = schema.safeParse(raw);
      if (!parsed.success) {
        const issue = parsed.error.issues[0];
        const where = issue === undefined || issue.path.length === 0 ? "" : `${issue.path.join(".")}: `;
        throw new UserError(`${path}:${number}: ${where}${issue?.message ?? "not a row of this dataset"}`);
      }
      rows.push({ line: number, value: parsed.data });
    }
  }
  if (rows.length === 0) throw new UserError(`${path}: no row in it`);
  return rows;
}
