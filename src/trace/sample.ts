/** What detection looks at: the start of a file, never its name alone. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { UserError } from "../core/failure.ts";
import { readBytes, readLineBatches, readText } from "../core/lines.ts";
import { plainText } from "../core/terminal-text.ts";
import { isZip, ZipArchive } from "../core/zip.ts";
import { columnKey, splitCsvLine } from "./csv-reader.ts";
import type { Sample } from "./format.ts";
import { parseLossless, parsePythonJson } from "./lossless-json.ts";
import { isBlank } from "./row-reader.ts";

const HEAD_CHARS = 256 * 1024;
const LINES = 20;
/** Folders in folders, looked into for files. */
const MAX_DEPTH = 6;

/** What tells the kind of a zip archive, the first that is there: Inspect's log, and one that is still being written. */
const ARCHIVE_HEADS = ["header.json", "_journal/start.json"];

/** Looks at a file (gzip undone) or a folder. An empty or binary file is a {@link UserError}. */
export async function takeSample(path: string, name: string = path): Promise<Sample> {
  if (!(await isFolder(path))) return { path, isFolder: false, files: [], ...(await lookAt(path, name)) };
  const own = await traceFiles(path);
  const files = own.length > 0 ? own : await nestedFiles(path);
  const first = (await firstWithContent(path, files)) ?? files[0];
  if (first === undefined) throw new UserError(`${plainText(name)}: a folder without trace files`);
  return { path, isFolder: true, files, ...(await lookAt(join(path, first), join(name, first))) };
}

/** Some sessions leave an empty file; it tells no format. */
async function firstWithContent(folder: string, files: readonly string[]): Promise<string | undefined> {
  for (const file of files) {
    // A link to nowhere is refused when it is read.
    const size = await stat(join(folder, file)).then(
      (info) => info.size,
      () => 1,
    );
    if (size > 0) return file;
  }
  return undefined;
}

export async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

/** Names of the files of a folder that may be traces, sorted; hidden ones and documentation left out. */
export async function traceFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory() && !entry.name.startsWith("."))
    .map((entry) => entry.name)
    .filter((name) => !/(^|\.)(md|txt|ya?ml|py|sh|html|png|svg|license)$/i.test(name))
    .sort();
}

/** Of a folder that holds only folders (sessions by day, runs by task): the files below, by their paths from it. */
async function nestedFiles(folder: string, depth = 0): Promise<string[]> {
  const files: string[] = [];
  const entries = await readdir(folder, { withFileTypes: true });
  for (const { name } of entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))) {
    const inner = join(folder, name);
    const found = [
      ...(await traceFiles(inner)),
      ...(depth < MAX_DEPTH ? await nestedFiles(inner, depth + 1) : []),
    ];
    files.push(...found.map((file) => join(name, file)));
  }
  return files.sort();
}

async function lookAt(
  path: string,
  name: string,
): Promise<Pick<Sample, "head" | "lines" | "rows" | "document">> {
  if (await isZip(path)) return lookIntoArchive(path, name);
  const lines: string[] = [];
  let chars = 0;
  let more = false;
  scan: for await (const batch of readLineBatches(path)) {
    for (const { text } of batch) {
      if (isBlank(text)) continue;
      if (lines.length >= LINES || chars >= HEAD_CHARS) {
        more = true;
        break scan;
      }
      lines.push(text);
      chars += text.length;
    }
  }
  if (lines.length === 0) throw new UserError(`${plainText(name)}: the file is empty`);
  const head = lines.join("\n").slice(0, HEAD_CHARS);
  if (head.includes("\u0000")) throw new UserError(`${plainText(name)}: a binary file, not a trace`);
  const rows = lines.map((line) => tryParse(line));
  let document: unknown;
  if (lines.length === 1 && !more) document = rows[0] ?? tryParse(lines[0] as string, parsePythonJson);
  else if (rows[0] === undefined && /^\s*[{[]/.test(head))
    document = tryParse(await readText(path), parsePythonJson);
  return { head, lines, rows, document };
}

async function lookIntoArchive(
  path: string,
  name: string,
): Promise<Pick<Sample, "head" | "lines" | "rows" | "document">> {
  const archive = await ZipArchive.open(path, plainText(name));
  try {
    const entry = ARCHIVE_HEADS.flatMap((head) => archive.entries.get(head) ?? [])[0];
    if (entry === undefined)
      throw new UserError(`${plainText(name)}: a zip archive, and not that of an Inspect log`, {
        hint: "unpack it, and name the file or folder that holds the trace",
      });
    const text = (await archive.read(entry)).toString("utf8");
    return {
      head: text.slice(0, HEAD_CHARS),
      lines: [],
      rows: [],
      document: tryParse(text, parsePythonJson),
    };
  } finally {
    await archive.close();
  }
}

/** The first character that is no white space; empty for an empty file. */
export async function firstMark(path: string): Promise<string> {
  for await (const bytes of readBytes(path)) {
    const match = /[^\s\ufeff]/.exec(bytes.toString("utf8"));
    if (match !== null) return match[0];
  }
  return "";
}

function tryParse(text: string, parse = parseLossless): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** The first rows that are JSON objects. */
export function objectRows(sample: Sample): readonly Readonly<Record<string, unknown>>[] {
  return sample.rows.filter(
    (row): row is Readonly<Record<string, unknown>> =>
      typeof row === "object" && row !== null && !Array.isArray(row),
  );
}

/** Share (0–1) of the first rows, as far as they are objects, that pass `test`; 0 without any. */
export function shareOfRows(
  sample: Sample,
  test: (row: Readonly<Record<string, unknown>>) => boolean,
): number {
  const rows = objectRows(sample);
  return rows.length === 0 ? 0 : rows.filter(test).length / rows.length;
}

/** Whether most of the first rows have all these keys (a few damaged rows do not hide a format). */
export function mostRowsHave(sample: Sample, ...keys: readonly string[]): boolean {
  return shareOfRows(sample, (row) => keys.every((key) => key in row)) > 0.5;
}

/** Column names of a CSV file; empty where the first line starts like JSON. */
export function csvColumns(sample: Sample): ReadonlySet<string> {
  const first = sample.lines[0];
  if (first === undefined || /^\s*[{[]/.test(first)) return new Set();
  return new Set(splitCsvLine(first).map((name) => name.trim()));
}

/** Whether a CSV file has all these columns, whatever their case. */
export function hasCsvColumns(sample: Sample, names: readonly string[]): boolean {
  const columns = new Set([...csvColumns(sample)].map(columnKey));
  return names.every((name) => columns.has(columnKey(name)));
}
