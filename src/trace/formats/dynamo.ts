/**
 * NVIDIA Dynamo's agent traces, both shapes: event envelopes (`dynamo.agent.trace.v1`: `{timestamp, event}`) and agentic
 * rows (Mooncake's keys with `request_id`, `session_id`, `wait_for`, `delay`, `tool_wait_ms`).
 */
import type { JsonObject } from "../../core/json.ts";
import type { ReadOptions, Sample, TraceFormat } from "../format.ts";
import { newTrace, toldBy } from "../new-trace.ts";
import { isObject } from "../openai-messages.ts";
import { RowAccount } from "../row-account.ts";
import { readJsonlRows } from "../row-reader.ts";
import { shareOfRows } from "../sample.ts";
import type { Trace } from "../trace.ts";
import { DynamoEvents } from "./dynamo-events.ts";
import { DynamoRows } from "./dynamo-rows.ts";

export const dynamo: TraceFormat = {
  name: "dynamo",
  title: "Dynamo agent trace JSONL: dynamo.agent.trace.v1 events, or rows with request_id, wait_for, delay",
  marks: ["request_id", "wait_for", "input_length", "output_length", "hash_ids"],
  detect(sample: Sample): number {
    if (shareOfRows(sample, isEnvelope) > 0.5) return 1;
    return shareOfRows(
      sample,
      (row) =>
        "request_id" in row &&
        "input_length" in row &&
        ["wait_for", "prefix_reset", "tool_wait_ms", "branches"].some((key) => key in row),
    ) > 0.5
      ? 1
      : 0;
  },
  async read(path: string, options: ReadOptions): Promise<Trace> {
    const account = new RowAccount(path, options);
    const events = new DynamoEvents();
    const rows = new DynamoRows(options.blockTokens ?? null);
    await readJsonlRows(path, account, (row, line) => {
      if (isEnvelope(row)) return events.add(row["event"] as JsonObject, line);
      rows.add(row, line);
      return undefined;
    });
    const requests = [...events.requests(), ...rows.requests(account)];
    const told = rows.count > 0 ? "recorded" : "inferred";
    return newTrace("dynamo", account, {
      requests,
      provenance: {
        arrivals: toldBy(requests).arrivals,
        order: told,
        think_time: told,
        prompt_length: "recorded",
        prefix_sharing: "recorded",
        output_length: "recorded",
      },
      notes: [...events.notes(), ...rows.notes()],
    });
  },
};

function isEnvelope(row: Readonly<Record<string, unknown>>): boolean {
  const event = row["event"];
  return (
    isObject(event) && "event_type" in event && ("schema" in event || "request" in event || "tool" in event)
  );
}
