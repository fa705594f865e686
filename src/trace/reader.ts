/** Reads a trace of any format: a file, gzip, standard input, or a folder. */
import { createWriteStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { UserError } from "../core/failure.ts";
import { readBytes } from "../core/lines.ts";
import { plainText } from "../core/terminal-text.ts";
import { readJsonDocument } from "./document.ts";
import { detectFormat, formatByName } from "./detect.ts";
import { readFolder } from "./folder.ts";
import type { ReadOptions, Sample, TraceFormat } from "./format.ts";
import { objectRows, takeSample } from "./sample.ts";
import type { Trace } from "./trace.ts";

export interface TraceOptions extends Partial<ReadOptions> {
  /** Overrules detection. */
  readonly format?: string;
}

/**
 * Reads the trace at `path` (`-` is standard input). The format is found by content unless `format` names it. A bad row
 * is a {@link UserError} `file:line: reason`, or a counted fault with `skipBad`; a trace without requests is one too.
 */
export async function readTrace(path: string, options: TraceOptions = {}): Promise<Trace> {
  const format = options.format === undefined ? null : formatByName(options.format);
  const name = options.name ?? (path === "-" ? "standard input" : path);
  const read: ReadOptions = { ...options, skipBad: options.skipBad ?? false, name };
  if (path !== "-" && !(await isStream(path))) return readNamed(path, read, name, format);
  // Detection and reading both start at the first byte, so what can be read only once is kept for a moment.
  const folder = await mkdtemp(join(tmpdir(), "reprise-stdin-"));
  try {
    const copy = join(folder, "trace");
    await pipeline(Readable.from(readBytes(path)), createWriteStream(copy, { mode: 0o600 }));
    return { ...(await readNamed(copy, read, name, format)), path };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function readNamed(
  path: string,
  options: ReadOptions,
  name: string,
  named: TraceFormat | null,
): Promise<Trace> {
  const sample = await takeSample(path, name);
  if (named === null) await refuseBrokenJson(sample, name, options);
  const format = named ?? detectFormat(sample, name);
  const trace =
    sample.isFolder && format.readsFolder !== true
      ? await readFolder(path, sample.files, format, options)
      : await format.read(path, options);
  if (trace.requests.length === 0) {
    const { read, refused } = trace.rows;
    const reasons = [
      `${read} rows read`,
      ...Object.entries(trace.rows.skipped).map(([kind, rows]) => `${rows} skipped (${plainText(kind)})`),
      ...(refused > 0 ? [`${refused} refused`] : []),
    ];
    throw new UserError(`${plainText(name)}: no requests in it (${format.name}; ${reasons.join(", ")})`);
  }
  return trace;
}

/** What starts like JSON and is neither rows nor a document is damaged, not of an unknown format: says where. */
async function refuseBrokenJson(sample: Sample, name: string, options: ReadOptions): Promise<void> {
  if (sample.document !== undefined || objectRows(sample).length > 0 || !/^\s*[{[]/.test(sample.head)) return;
  const first = sample.isFolder ? (sample.files[0] as string) : null;
  await readJsonDocument(first === null ? sample.path : join(sample.path, first), {
    ...options,
    name: first === null ? name : join(name, first),
  });
}

/** A pipe or a device: it can be read once only. */
async function isStream(path: string): Promise<boolean> {
  try {
    const info = await stat(path);
    return !info.isFile() && !info.isDirectory();
  } catch {
    return false;
  }
}
