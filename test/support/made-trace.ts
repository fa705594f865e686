/** A trace in memory as a reader would hand it over, from its requests. */
import { newProvenance } from "../../src/trace/new-request.ts";
import type { Trace } from "../../src/trace/trace.ts";
import type { TraceRequest } from "../../src/trace/trace-request.ts";

export function traceOf(requests: readonly TraceRequest[]): Trace {
  return {
    format: "mooncake",
    path: "/somewhere/secret/file.jsonl",
    header: null,
    requests,
    rows: { read: requests.length, used: requests.length, skipped: {}, refused: 0 },
    faults: [],
    provenance: newProvenance({ arrivals: "recorded" }),
    notes: ["a note"],
  };
}
