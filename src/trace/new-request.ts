/** Builds a {@link TraceRequest} from what a source tells; the rest is `null`. One object shape for all formats. */
import type { Origin, Property, Provenance } from "./trace.ts";
import type { Recorded, TraceRequest } from "./trace-request.ts";

export function newRequest(
  told: Pick<TraceRequest, "request_id" | "job_id" | "prompt"> & Partial<TraceRequest>,
): TraceRequest {
  return {
    request_id: told.request_id,
    job_id: told.job_id,
    turn: told.turn ?? null,
    arrival_ms: told.arrival_ms ?? null,
    after: told.after ?? null,
    think_ms: told.think_ms ?? null,
    tool: told.tool ?? null,
    prompt: told.prompt,
    max_tokens: told.max_tokens ?? null,
    expected_output_tokens: told.expected_output_tokens ?? null,
    temperature: told.temperature ?? null,
    params: told.params ?? null,
    budget_ms: told.budget_ms ?? null,
    agent: told.agent ?? null,
    recorded: told.recorded ?? null,
    response_text: told.response_text ?? null,
    metadata: told.metadata ?? null,
  };
}

/** What the source measured; the rest is `null`. */
export function newRecorded(told: Partial<Recorded>): Recorded {
  return {
    sent_ms: told.sent_ms ?? null,
    first_token_ms: told.first_token_ms ?? null,
    end_ms: told.end_ms ?? null,
    prompt_tokens: told.prompt_tokens ?? null,
    output_tokens: told.output_tokens ?? null,
    cached_tokens: told.cached_tokens ?? null,
  };
}

/** A bare length, with no block names. */
export function lengthPrompt(tokens: number): TraceRequest["prompt"] {
  return { kind: "length", tokens, hash_ids: null, block_tokens: null, hash_scope: null };
}

/** What is told, by property; what is not named is `missing`. */
export function newProvenance(told: Partial<Record<Property, Origin>>): Provenance {
  return {
    arrivals: told.arrivals ?? "missing",
    order: told.order ?? "missing",
    think_time: told.think_time ?? "missing",
    prompt_text: told.prompt_text ?? "missing",
    prompt_length: told.prompt_length ?? "missing",
    prefix_sharing: told.prefix_sharing ?? "missing",
    output_length: told.output_length ?? "missing",
    sampling: told.sampling ?? "missing",
  };
}
