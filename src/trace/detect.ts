/** Which format a file is in, by its content. */
import { UserError } from "../core/failure.ts";
import { plainText } from "../core/terminal-text.ts";
import type { Sample, TraceFormat } from "./format.ts";
import { FORMATS } from "./formats/index.ts";
import { csvColumns, objectRows } from "./sample.ts";

/**
 * The format that is surest of the sample. None: a {@link UserError} with the nearest guess and why it failed. `name` is
 * how messages call the file.
 */
export function detectFormat(
  sample: Sample,
  name: string = sample.path,
  formats: readonly TraceFormat[] = FORMATS,
): TraceFormat {
  let best: TraceFormat | null = null;
  let score = 0;
  for (const format of formats) {
    const own = format.detect(sample);
    if (own > score) {
      best = format;
      score = own;
    }
  }
  if (best !== null) return best;
  throw unknownFormat(sample, name, formats);
}

/** The format of this name; an unknown one is a {@link UserError} that lists them. */
export function formatByName(name: string, formats: readonly TraceFormat[] = FORMATS): TraceFormat {
  const format = formats.find((candidate) => candidate.name === name);
  if (format !== undefined) return format;
  throw new UserError(`--format: "${plainText(name)}" is no trace format`, { hint: knownFormats(formats) });
}

function unknownFormat(sample: Sample, name: string, formats: readonly TraceFormat[]): UserError {
  const columns = csvColumns(sample);
  const keys = new Set<string>(columns.size > 1 ? columns : []);
  for (const row of objectRows(sample)) for (const key of Object.keys(row)) keys.add(key);
  if (typeof sample.document === "object" && sample.document !== null) {
    const document: unknown = Array.isArray(sample.document) ? sample.document[0] : sample.document;
    for (const key of Object.keys(document ?? {})) keys.add(key);
  }
  let nearest: TraceFormat | null = null;
  // One key in four (an id, a time) is chance.
  let nearness = 0.25;
  for (const format of formats) {
    const marks = format.marks ?? [];
    const own = marks.filter((mark) => keys.has(mark)).length / Math.max(1, marks.length);
    if (own > nearness) {
      nearest = format;
      nearness = own;
    }
  }
  const where = plainText(name);
  if (nearest !== null) {
    const missing = (nearest.marks ?? []).find((mark) => !keys.has(mark));
    const why =
      nearest.whyNot?.(sample) ?? (missing === undefined ? unfit(sample) : `"${missing}" is missing`);
    return new UserError(
      `${where}: no known trace format; the nearest is ${nearest.name}, but ${plainText(why)}`,
      {
        hint: knownFormats(formats),
      },
    );
  }
  const what =
    keys.size > 0
      ? `its keys (${[...keys].slice(0, 6).map(plainText).join(", ")}) are those of none`
      : (otherSeparator(sample) ?? "it starts neither with JSON nor with a CSV header");
  return new UserError(`${where}: no known trace format; ${what}`, { hint: knownFormats(formats) });
}

/** A header whose columns are parted by something else than commas. */
function otherSeparator({ lines }: Sample): string | null {
  const found = [
    [";", "semicolons"],
    ["\t", "tabs"],
  ].find(([mark = ""]) => (lines[0] ?? "").split(mark).length > 2);
  return found === undefined ? null : `its columns are parted by ${found[1]}, not by commas`;
}

function unfit(sample: Sample): string {
  return Array.isArray(sample.document)
    ? "its rows stand in one JSON array, not one a line"
    : "its values do not fit";
}

function knownFormats(formats: readonly TraceFormat[]): string {
  return `--format overrules detection: ${formats.map((format) => format.name).join(", ")}`;
}
