/**
 * LMCache agent trace, JSONL: `timestamp` (Unix µs, unsorted), `input`, `output`, `session_id`. The text is whole; no token
 * counts. Where the dashboard it was copied from shows no input (tool results only), `input` is empty: skipped, and counted.
 */
import type { ReadOptions, Sample, TraceFormat } from "../format.ts";
import { newRequest } from "../new-request.ts";
import { newTrace } from "../new-trace.ts";
import { RowAccount } from "../row-account.ts";
import { idField, integerField, optionalString, stringField } from "../row-fields.ts";
import { readJsonlRows } from "../row-reader.ts";
import { mostRowsHave } from "../sample.ts";
import type { Trace } from "../trace.ts";
import type { TraceRequest } from "../trace-request.ts";

export const lmcache: TraceFormat = {
  name: "lmcache",
  title: "LMCache agent trace JSONL: timestamp (µs), input, output, session_id",
  marks: ["timestamp", "input", "output", "session_id"],
  detect: (sample: Sample) => (mostRowsHave(sample, "timestamp", "input", "output", "session_id") ? 1 : 0),
  async read(path: string, options: ReadOptions): Promise<Trace> {
    const account = new RowAccount(path, options);
    const requests: TraceRequest[] = [];
    // Offsets from the whole ms of the first row keep the µs exact.
    let base_ms: number | null = null;
    await readJsonlRows(path, account, (row, line) => {
      const micros = integerField(row, "timestamp");
      if (row["input"] === "") return "no input in the log";
      const text = stringField(row, "input");
      const job_id = idField(row, "session_id");
      const response_text = optionalString(row, "output");
      base_ms ??= Math.floor(micros / 1000);
      requests.push(
        newRequest({
          request_id: `r${line}`,
          job_id,
          arrival_ms: (micros - base_ms * 1000) / 1000,
          prompt: { kind: "text", text },
          response_text,
        }),
      );
      return undefined;
    });
    return newTrace("lmcache", account, {
      header: base_ms === null ? null : { epoch_ms: base_ms },
      requests,
      provenance: {
        arrivals: "recorded",
        order: "inferred",
        prompt_text: "recorded",
        prefix_sharing: "recorded",
      },
      notes: [
        "turns of a session follow each other by arrival; ends are not told, so think times are unknown",
      ],
    });
  },
};
