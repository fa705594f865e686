/**
 * BurstGPT CSV: `Timestamp` (s), `Model`, `Request tokens`, `Response tokens`, `Total tokens`, `Log Type`; version 3 adds
 * `Session ID` and `Elapsed time` (s). A response of 0 tokens is a failure that was recorded: skipped, and counted.
 */
import { msFromSeconds } from "../../core/units.ts";
import { readCsvRows } from "../csv-reader.ts";
import type { ReadOptions, Sample, TraceFormat } from "../format.ts";
import { lengthPrompt, newRecorded, newRequest } from "../new-request.ts";
import { newTrace } from "../new-trace.ts";
import { BadRow, RowAccount } from "../row-account.ts";
import { hasCsvColumns } from "../sample.ts";
import type { Trace } from "../trace.ts";
import type { TraceRequest } from "../trace-request.ts";

const COLUMNS = ["Timestamp", "Request tokens", "Response tokens"] as const;

export const burstgpt: TraceFormat = {
  name: "burstgpt",
  title: "BurstGPT CSV: Timestamp (s), Model, Request tokens, Response tokens, ...",
  marks: [...COLUMNS, "Log Type"],
  detect: (sample: Sample) => (hasCsvColumns(sample, COLUMNS) ? 1 : 0),
  async read(path: string, options: ReadOptions): Promise<Trace> {
    const account = new RowAccount(path, options);
    const requests: TraceRequest[] = [];
    let sessions = false;
    await readCsvRows(path, account, COLUMNS, (row, line) => {
      const arrival_ms = msFromSeconds(row.number("Timestamp"));
      const input = row.integer("Request tokens");
      const output = row.integer("Response tokens");
      const elapsed = row.optionalText("Elapsed time") === null ? null : row.number("Elapsed time");
      if (output === 0) return "failed when recorded (0 response tokens)";
      if (input === 0) throw new BadRow('"Request tokens" must be ≥ 1, not 0');
      const session = row.optionalText("Session ID");
      sessions ||= session !== null;
      const request_id = `r${line}`;
      const job_id = session ?? request_id;
      const model = row.optionalText("Model");
      const kind = row.optionalText("Log Type");
      requests.push(
        newRequest({
          request_id,
          job_id,
          arrival_ms,
          prompt: lengthPrompt(input),
          recorded: newRecorded({
            output_tokens: output,
            sent_ms: elapsed === null ? null : arrival_ms,
            end_ms: elapsed === null ? null : arrival_ms + msFromSeconds(elapsed),
          }),
          metadata: {
            ...(model === null ? {} : { model }),
            ...(kind === null ? {} : { log_type: kind }),
          },
        }),
      );
      return undefined;
    });
    return newTrace("burstgpt", account, {
      requests,
      provenance: {
        arrivals: "recorded",
        prompt_length: "recorded",
        output_length: "recorded",
        order: sessions ? "inferred" : "missing",
        think_time: sessions ? "inferred" : "missing",
      },
      notes: sessions ? ["turns of a session follow each other by arrival"] : [],
    });
  },
};
