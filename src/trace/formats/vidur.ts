/** Vidur CSV: `arrived_at` (s), `num_prefill_tokens`, `num_decode_tokens`; its length traces have no `arrived_at`. */
import { msFromSeconds } from "../../core/units.ts";
import { readCsvRows } from "../csv-reader.ts";
import type { ReadOptions, Sample, TraceFormat } from "../format.ts";
import { lengthPrompt, newRecorded, newRequest } from "../new-request.ts";
import { newTrace } from "../new-trace.ts";
import { RowAccount } from "../row-account.ts";
import { hasCsvColumns } from "../sample.ts";
import type { Trace } from "../trace.ts";
import type { TraceRequest } from "../trace-request.ts";

const COLUMNS = ["num_prefill_tokens", "num_decode_tokens"] as const;

export const vidur: TraceFormat = {
  name: "vidur",
  title: "Vidur CSV: arrived_at (s)?, num_prefill_tokens, num_decode_tokens",
  marks: COLUMNS,
  detect: (sample: Sample) => (hasCsvColumns(sample, COLUMNS) ? 1 : 0),
  async read(path: string, options: ReadOptions): Promise<Trace> {
    const account = new RowAccount(path, options);
    const requests: TraceRequest[] = [];
    let timed = false;
    await readCsvRows(path, account, COLUMNS, (row, line) => {
      timed = row.has("arrived_at");
      const request_id = `r${line}`;
      requests.push(
        newRequest({
          request_id,
          job_id: request_id,
          arrival_ms: timed ? msFromSeconds(row.number("arrived_at")) : null,
          prompt: lengthPrompt(row.integer("num_prefill_tokens", 1)),
          recorded: newRecorded({ output_tokens: row.integer("num_decode_tokens", 1) }),
        }),
      );
    });
    return newTrace("vidur", account, {
      requests,
      provenance: {
        arrivals: timed ? "recorded" : "missing",
        prompt_length: "recorded",
        output_length: "recorded",
      },
    });
  },
};
