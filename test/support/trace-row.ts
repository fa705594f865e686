/** Trace requests for tests, from what matters to the test. */
import type { TraceRequest } from "../../src/trace/trace-request.ts";
import { lengthPrompt, newRequest } from "../../src/trace/new-request.ts";

export function row(
  request_id: string,
  job_id: string,
  told: Partial<Omit<TraceRequest, "request_id" | "job_id">> = {},
): TraceRequest {
  return newRequest({ prompt: lengthPrompt(100), max_tokens: 10, ...told, request_id, job_id });
}
