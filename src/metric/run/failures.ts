import { FAILURE_CODES } from "../../core/failure.ts";
import { FAILED, type RequestTable } from "../request-table.ts";

/** Failed requests by code, in the order of FAILURE_CODES; codes that did not occur are left out. */
export function failures(table: RequestTable): Record<string, number> {
  const by = new Map<string, number>();
  for (let row = 0; row < table.n; row++) {
    if (table.status[row] !== FAILED) continue;
    // A code of another version is not dropped from the sum.
    const code = FAILURE_CODES[table.failure[row] as number] ?? "unknown";
    by.set(code, (by.get(code) ?? 0) + 1);
  }
  return Object.fromEntries(
    [...FAILURE_CODES, "unknown"].flatMap((code) => {
      const n = by.get(code);
      return n === undefined ? [] : [[code, n] as const];
    }),
  );
}
