import type { Tokens } from "../../core/units.ts";
import type { TraceRequest } from "../../trace/trace-request.ts";
import type { Transformed, Workload } from "../workload.ts";

/**
 * `--input-length` replaces every prompt by made-up text of that length (the trace's text and prefix sharing go);
 * `--output-length` every output length, also where the trace tells none.
 */
export function overrideLengths(jobs: Workload, input: Tokens | null, output: Tokens | null): Transformed {
  if (input === null && output === null) return { jobs, notes: [] };
  const notes: string[] = [];
  if (input !== null) {
    notes.push(
      `every prompt is made-up text of ${input} tokens; text and prefix sharing of the trace are not used`,
    );
  }
  if (output !== null) notes.push(`every output length is ${output} tokens`);
  return {
    jobs: jobs.map((job) => ({
      ...job,
      turns: job.turns.map((turn) => ({ ...turn, request: override(turn.request, input, output) })),
    })),
    notes,
  };
}

function override(request: TraceRequest, input: Tokens | null, output: Tokens | null): TraceRequest {
  const recorded = request.recorded;
  return {
    ...request,
    prompt:
      input === null
        ? request.prompt
        : { kind: "length", tokens: input, hash_ids: null, block_tokens: null, hash_scope: null },
    max_tokens: output ?? request.max_tokens,
    expected_output_tokens: output ?? request.expected_output_tokens,
    recorded:
      recorded === null
        ? null
        : {
            ...recorded,
            prompt_tokens: input ?? recorded.prompt_tokens,
            output_tokens: output ?? recorded.output_tokens,
          },
  };
}
