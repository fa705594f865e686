/**
 * Azure LLM inference traces 2023, 2024, 2025: CSV `TIMESTAMP,ContextTokens,GeneratedTokens` (2025 adds `NumImages`). A
 * timestamp has 0–7 fraction digits and at times a zone; without one it is read as UTC.
 */
import type { ReadOptions, Sample, TraceFormat } from "../format.ts";
import { readCsvRows } from "../csv-reader.ts";
import { lengthPrompt, newRecorded, newRequest } from "../new-request.ts";
import { newTrace } from "../new-trace.ts";
import { BadRow, RowAccount } from "../row-account.ts";
import { hasCsvColumns } from "../sample.ts";
import type { Trace } from "../trace.ts";
import type { TraceRequest } from "../trace-request.ts";

const COLUMNS = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"] as const;

export const azure: TraceFormat = {
  name: "azure",
  title: "Azure LLM inference CSV: TIMESTAMP, ContextTokens, GeneratedTokens",
  marks: COLUMNS,
  detect: (sample: Sample) => (hasCsvColumns(sample, COLUMNS) ? 1 : 0),
  async read(path: string, options: ReadOptions): Promise<Trace> {
    const account = new RowAccount(path, options);
    const requests: TraceRequest[] = [];
    // Offsets from the whole second of the first row: a Unix time in ms as a double would lose the 7th digit.
    let base_s: number | null = null;
    let zoneless = false;
    let images = 0;
    await readCsvRows(path, account, COLUMNS, (row, line) => {
      const time = parseTimestamp(row.text("TIMESTAMP"));
      const request_id = `r${line}`;
      const pictures = row.optionalText("NumImages") === null ? 0 : row.integer("NumImages");
      const prompt = lengthPrompt(row.integer("ContextTokens", 1));
      const recorded = newRecorded({ output_tokens: row.integer("GeneratedTokens", 1) });
      base_s ??= time.seconds;
      zoneless ||= time.zoneless;
      if (pictures > 0) images++;
      requests.push(
        newRequest({
          request_id,
          job_id: request_id,
          arrival_ms: (time.seconds - base_s) * 1000 + time.fraction_ms,
          prompt,
          recorded,
          metadata: pictures > 0 ? { num_images: pictures } : null,
        }),
      );
    });
    return newTrace("azure", account, {
      header: base_s === null ? null : { epoch_ms: base_s * 1000 },
      requests,
      provenance: {
        arrivals: "recorded",
        prompt_length: "recorded",
        output_length: "recorded",
      },
      notes: [
        ...(zoneless ? ["timestamps without a zone are read as UTC"] : []),
        ...(images > 0 ? [`${images} requests had images; only their text length is replayed`] : []),
      ],
    });
  },
};

const TIMESTAMP =
  /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?\s*(Z|[+-]\d\d(?::?\d\d)?)?$/;

/** A calendar time as whole Unix seconds and the fraction in ms, exact to its digits. */
export function parseTimestamp(text: string): { seconds: number; fraction_ms: number; zoneless: boolean } {
  const match = TIMESTAMP.exec(text);
  if (match === null) throw new BadRow(`"TIMESTAMP" is no time: ${JSON.stringify(text)}`);
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const ms = Date.UTC(year, month - 1, day, hour, minute, second);
  const date = new Date(ms);
  if (
    date.getUTCMonth() !== month - 1 ||
    date.getUTCDate() !== day ||
    hour > 23 ||
    minute > 59 ||
    second > 60
  )
    throw new BadRow(`"TIMESTAMP" is no time: ${JSON.stringify(text)}`);
  const zone = match[8];
  const digits = match[7] ?? "";
  return {
    seconds: ms / 1000 - zoneSeconds(zone ?? "Z"),
    fraction_ms: digits === "" ? 0 : Number(digits) / 10 ** (digits.length - 3),
    zoneless: zone === undefined,
  };
}

function zoneSeconds(zone: string): number {
  if (zone === "Z") return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(3).replace(":", "") || "0");
  return (zone.startsWith("-") ? -1 : 1) * (hours * 3600 + minutes * 60);
}
