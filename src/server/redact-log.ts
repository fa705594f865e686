/** Takes secrets out of a file that a server wrote, however long it is: in pieces, and only where there is one. */
import { closeSync, openSync, readSync, renameSync, writeSync } from "node:fs";
import { secrets } from "../core/secret.ts";

const PIECE = 4 << 20;
const MARK = Buffer.from("[redacted]");

/** Rewrites the file (through one beside it) if it holds a secret; `piece` is how many bytes are looked at together. */
export function redactLog(file: string, piece = PIECE): void {
  const values = secrets
    .list()
    .map((value) => Buffer.from(value))
    .toSorted((a, b) => b.length - a.length);
  if (values.length === 0 || !passes(file, values, piece, null)) return;
  const clean = `${file}.clean`;
  const out = openSync(clean, "w", 0o600);
  try {
    passes(file, values, piece, (bytes) => {
      for (let at = 0; at < bytes.length;) at += writeSync(out, bytes, at);
    });
  } finally {
    closeSync(out);
  }
  renameSync(clean, file);
}

/** One pass over the file; what a secret may still be completed from is kept for the next piece. True if one was found. */
function passes(
  file: string,
  values: readonly Buffer[],
  piece: number,
  write: ((bytes: Buffer) => void) | null,
): boolean {
  const keep = (values[0]?.length ?? 1) - 1;
  const input = openSync(file, "r");
  try {
    let found = false;
    let rest: Buffer = Buffer.alloc(0);
    for (;;) {
      const next = Buffer.allocUnsafe(piece);
      const read = readSync(input, next, 0, piece, null);
      const text = Buffer.concat([rest, next.subarray(0, read)]);
      // A secret that begins after this may be the beginning of a longer one.
      const limit = read === 0 ? text.length : Math.max(0, text.length - keep);
      let from = 0;
      for (;;) {
        const hit = firstOf(text, values, from);
        if (hit === null || hit.at >= limit) break;
        found = true;
        if (write === null) return true;
        write(text.subarray(from, hit.at));
        write(MARK);
        from = hit.at + hit.length;
      }
      const upTo = Math.max(from, limit);
      write?.(text.subarray(from, upTo));
      if (read === 0) return found;
      rest = text.subarray(upTo);
    }
  } finally {
    closeSync(input);
  }
}

/** The first place where one of the values (longest first) stands. */
function firstOf(
  text: Buffer,
  values: readonly Buffer[],
  from: number,
): { readonly at: number; readonly length: number } | null {
  let best: { readonly at: number; readonly length: number } | null = null;
  for (const value of values) {
    const at = text.indexOf(value, from);
    if (at !== -1 && (best === null || at < best.at)) best = { at, length: value.length };
  }
  return best;
}
