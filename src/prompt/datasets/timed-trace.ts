/** `timed_trace`: Mooncake rows at their recorded times, prefix blocks and all. */
import { UserError } from "../../core/failure.ts";
import type { ReadOptions } from "../../trace/format.ts";
import { mooncake } from "../../trace/formats/mooncake.ts";
import type { Trace } from "../../trace/trace.ts";
import { plannedOutputTokens, recordedPromptTokens } from "../../trace/trace-request.ts";
import { type Dataset, type DatasetContext, makeTurn, pathOf, takeRows } from "./dataset.ts";

/** Mooncake's own block size, and that of the tool which calls it a timed trace. */
const BLOCK_TOKENS = [512, 16] as const;

export const timedTrace: Dataset = {
  name: "timed_trace",
  title: "Mooncake rows: timestamp, input_length, output_length, hash_ids; sent at their times",
  needsPath: true,
  load: async (context) => {
    const path = pathOf(context, "timed_trace");
    const trace = await readTrace(path, context);
    if (trace.rows.refused > 0) context.note(`${path}: ${trace.rows.refused} bad rows left out`);
    return takeRows([...trace.requests], context, path).map((request) =>
      makeTurn(context, {
        prompt: request.prompt,
        promptTokens: recordedPromptTokens(request),
        outputTokens: plannedOutputTokens(request),
        ...(request.arrival_ms === null ? {} : { offset_ms: request.arrival_ms }),
      }),
    );
  },
};

async function readTrace(path: string, context: DatasetContext): Promise<Trace> {
  const { blockTokens, skipBad, timeUnitMs } = context.options;
  const options: ReadOptions = { skipBad, timeUnitMs };
  if (blockTokens !== null) return mooncake.read(path, { ...options, blockTokens });
  let first: unknown;
  for (const size of BLOCK_TOKENS) {
    try {
      const trace = await mooncake.read(path, { ...options, blockTokens: size });
      context.note(`${path}: prefix blocks of ${size} tokens`);
      return trace;
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      first ??= error;
    }
  }
  throw first;
}
