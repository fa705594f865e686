/** The contract of a trace format. One format a file in formats/, one line in formats/index.ts. */
import type { Trace } from "./trace.ts";

/** What detection looks at: the start of the content, never the name alone. */
export interface Sample {
  readonly path: string;
  readonly isFolder: boolean;
  /** The first 256 KiB, decoded, BOM dropped. Of a folder: of its first file; so are `lines`, `rows`, `document`. */
  readonly head: string;
  /** The first non-blank lines (up to 20, complete ones only unless the file has one line). */
  readonly lines: readonly string[];
  /** The first lines parsed as JSON; `undefined` where a line is not JSON. */
  readonly rows: readonly unknown[];
  /** The parsed document where the whole content is one JSON value; else `undefined`. */
  readonly document: unknown;
  /** Files of a folder (names, sorted); empty for a file. */
  readonly files: readonly string[];
}

export interface ReadOptions {
  /** Count and skip bad rows instead of refusing the file. */
  readonly skipBad: boolean;
  /** How messages call the file where that is not its path (standard input is spooled to a temporary file). */
  readonly name?: string;
  /** Format-specific: block size of prefix hashes where the file does not tell. */
  readonly blockTokens?: number;
  /** Format-specific: multiplies raw timestamps to ms where a format lets the user say. */
  readonly timeUnitMs?: number;
}

export interface TraceFormat {
  /** As in `--format NAME` and `inspect --json`. */
  readonly name: string;
  /** One line for the help and the error "no known format". */
  readonly title: string;
  /** True where `read` takes a folder itself; otherwise a folder is read file by file and merged. */
  readonly readsFolder?: boolean;
  /** Keys (or columns) of a row of this format: the nearest guess for an unknown file is the one with most of them. */
  readonly marks?: readonly string[];
  /**
   * How sure the format is that this is its file: 0 = no; 1 = yes by its own marks; between = by columns it shares with
   * others. The highest wins. Throws never.
   */
  detect(sample: Sample): number;
  /** Why `detect` said no, for the nearest guess; by default the first of `marks` that is missing. */
  whyNot?(sample: Sample): string;
  /**
   * Reads everything. A bad row is a fault with its line; without `skipBad` the first fault throws a `UserError`
   * `file:line: reason`.
   */
  read(path: string, options: ReadOptions): Promise<Trace>;
}
