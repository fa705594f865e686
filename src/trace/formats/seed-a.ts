/** The vLLM trace replayer's format: `timestamp` (int ms) and the queries that start together at it (COMPAT A). */
import type { JsonObject } from "../../core/json.ts";
import type { ReadOptions, Sample, TraceFormat } from "../format.ts";
import { lengthPrompt, newRecorded, newRequest } from "../new-request.ts";
import { newTrace } from "../new-trace.ts";
import { BadRow, RowAccount } from "../row-account.ts";
import { integerField, numberField, objectsField } from "../row-fields.ts";
import { readJsonlRows } from "../row-reader.ts";
import { mostRowsHave } from "../sample.ts";
import type { Trace } from "../trace.ts";
import type { TraceRequest } from "../trace-request.ts";

export const seedA: TraceFormat = {
  name: "seed-a",
  title: "trace replayer JSONL: timestamp (ms), queries[{prompt_length, response_length}]",
  marks: ["timestamp", "queries"],
  detect: (sample: Sample) => (mostRowsHave(sample, "timestamp", "queries") ? 1 : 0),
  async read(path: string, options: ReadOptions): Promise<Trace> {
    const account = new RowAccount(path, options);
    const requests: TraceRequest[] = [];
    await readJsonlRows(path, account, (row, line) => {
      requests.push(...entryRequests(row, line));
    });
    return newTrace("seed-a", account, {
      requests,
      provenance: {
        arrivals: "recorded",
        prompt_length: "recorded",
        output_length: "recorded",
      },
    });
  },
};

/** One request a query, `r<line>.<n>`; its entry is kept in `metadata.entry`. */
function entryRequests(row: JsonObject, line: number): TraceRequest[] {
  const arrival_ms = numberField(row, "timestamp");
  const queries = objectsField(row, "queries");
  if (queries.length === 0) throw new BadRow('"queries" is empty');
  return queries.map((query, at) => {
    const request_id = `r${line}.${at + 1}`;
    return newRequest({
      request_id,
      job_id: request_id,
      arrival_ms,
      prompt: lengthPrompt(integerField(query, "prompt_length", 1)),
      recorded: newRecorded({ output_tokens: integerField(query, "response_length", 1) }),
      metadata: { entry: line },
    });
  });
}
