/** The account of one reading: rows read = used + skipped + refused, each refusal with its place and reason. */
import { UserError } from "../core/failure.ts";
import { plainText, shortText } from "../core/terminal-text.ts";
import type { ReadOptions } from "./format.ts";
import type { RowCounts, TraceFault } from "./trace.ts";

/** Thrown by a format while it looks at one row: the row is bad, for this reason. The reader adds file and line. */
export class BadRow extends Error {
  override readonly name = "BadRow";
}

/** Faults kept with their reason; further ones are only counted. */
const MAX_FAULTS = 1000;

export class RowAccount {
  /** Where the trace is read from. */
  readonly path: string;
  /** How messages call the file. */
  readonly file: string;
  readonly faults: TraceFault[] = [];
  readonly #skipBad: boolean;
  readonly #skipped = new Map<string, number>();
  #read = 0;
  #used = 0;
  #refused = 0;

  constructor(path: string, options: ReadOptions) {
    this.path = path;
    this.file = options.name ?? path;
    this.#skipBad = options.skipBad;
  }

  /** Counts a row that is, or is part of, a turn. */
  use(rows = 1): void {
    this.#read += rows;
    this.#used += rows;
  }

  /** Counts rows of a kind that is no turn. */
  skip(kind: string, rows = 1): void {
    this.#read += rows;
    this.#skipped.set(kind, (this.#skipped.get(kind) ?? 0) + rows);
  }

  /** Counts a bad row. Without `skipBad` it throws the {@link UserError} `file:line: reason`. */
  refuse(line: number | null, reason: string, file: string = this.file): void {
    if (!this.#skipBad) throw rowError(file, line, reason);
    this.#read++;
    this.#refused++;
    if (this.faults.length < MAX_FAULTS) this.faults.push({ file, line, reason: plainText(reason) });
  }

  /** Turns rows already counted as used into one refused row each (a fault that only shows at the end). */
  revoke(line: number | null, reason: string, file: string = this.file): void {
    this.refuse(line, reason, file);
    this.#read--;
    this.#used--;
  }

  /** Turns rows already counted as used into skipped ones: what they are only shows at the end. */
  unuse(kind: string, rows: number): void {
    this.skip(kind, rows);
    this.#read -= rows;
    this.#used -= rows;
  }

  counts(): RowCounts {
    return {
      read: this.#read,
      used: this.#used,
      skipped: Object.fromEntries([...this.#skipped].sort(([a], [b]) => (a < b ? -1 : 1))),
      refused: this.#refused,
    };
  }
}

/** The rows of several files. */
export function sumRows(all: readonly RowCounts[]): RowCounts {
  const skipped: Record<string, number> = {};
  for (const counts of all)
    for (const [kind, rows] of Object.entries(counts.skipped)) skipped[kind] = (skipped[kind] ?? 0) + rows;
  const sum = (key: "read" | "used" | "refused"): number =>
    all.reduce((total, counts) => total + counts[key], 0);
  return { read: sum("read"), used: sum("used"), skipped, refused: sum("refused") };
}

/** The one-line error of a bad row. */
export function rowError(file: string, line: number | null, reason: string): UserError {
  const place = line === null ? plainText(file) : `${plainText(file)}:${line}`;
  return new UserError(`${place}: ${plainText(reason)}`, {
    hint: "--skip-bad counts such rows and goes on without them",
  });
}

/** The reason a text is not JSON, fit for a terminal. */
export function notJson(error: unknown): string {
  return `not valid JSON (${shortText(error instanceof Error ? error.message : String(error), 160)})`;
}
