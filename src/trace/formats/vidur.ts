/** Vidur CSV: `arrived_at` (s), `num_prefill_tokens`, `num_decode_tokens`. */
import { msFromSeconds } from "../../core/units.ts";
import { readCsvRows } from "../csv-reader.ts";
import type { ReadOptions, Sample, TraceFormat } from "../format.ts";
import { lengthPrompt, newProvenance, newRecorded, newRequest } from "../new-request.ts";
import { RowAccount } from "../row-account.ts";
import { csvColumns } from "../sample.ts";
import type { Trace } from "../trace.ts";
import type { TraceRequest } from "../trace-request.ts";

const COLUMNS = ["arrived_at", "num_prefill_tokens", "num_decode_tokens"] as const;

export const vidur: TraceFormat = {
  name: "vidur",
  title: "Vidur CSV: arrived_at (s), num_prefill_tokens, num_decode_tokens",
  marks: COLUMNS,
  detect(sample: Sample): number {
    const columns = csvColumns(sample);
    return COLUMNS.every((name) => columns.has(name)) ? 1 : 0;
  },
  async read(path: string, options: ReadOptions): Promise<Trace> {
    const account = new RowAccount(path, options);
    const requests: TraceRequest[] = [];
    await readCsvRows(path, account, COLUMNS, (row, line) => {
      const request_id = `r${line}`;
      requests.push(
        newRequest({
          request_id,
          job_id: request_id,
          arrival_ms: msFromSeconds(row.number("arrived_at")),
          prompt: lengthPrompt(row.integer("num_prefill_tokens", 1)),
          recorded: newRecorded({ output_tokens: row.integer("num_decode_tokens", 1) }),
        }),
      );
    });
    return {
      format: "vidur",
      path,
      header: null,
      requests,
      rows: account.counts(),
      faults: account.faults,
      provenance: newProvenance({
        arrivals: "recorded",
        prompt_length: "recorded",
        output_length: "recorded",
      }),
      notes: [],
    };
  },
};
