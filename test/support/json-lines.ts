/** Files of JSON lines. */
import { writeFileSync } from "node:fs";

export function jsonLines(rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

/** Returns the path. */
export function writeRows(path: string, rows: readonly object[]): string {
  writeFileSync(path, jsonLines(rows));
  return path;
}
