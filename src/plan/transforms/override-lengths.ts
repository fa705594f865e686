import type { Tokens } from "../../core/units.ts";
import type { Transformed, Workload } from "../workload.ts";

/**
 * `--input-length` replaces every prompt by made-up text of that length (the trace's text and prefix sharing go);
 * `--output-length` every output length, also where the trace tells none.
 */
export function overrideLengths(work: Workload, input: Tokens | null, output: Tokens | null): Transformed {
  const notes: string[] = [];
  if (input !== null) {
    notes.push(
      `every prompt is made-up text of ${input} tokens; text and prefix sharing of the trace are not used`,
    );
  }
  if (output !== null) notes.push(`every output length is ${output} tokens`);
  return { jobs: { ...work, input_tokens: input, output_tokens: output }, notes };
}
