/**
 * Mooncake rows (FAST'25): `timestamp` ms, `input_length`, `output_length`, `hash_ids` of 512-token prefix blocks named
 * file-wide, ceil(input ÷ 512) of them. vLLM's `timed_trace` is the same with 16-token blocks.
 */
import type { JsonObject } from "../../core/json.ts";
import type { ReadOptions, Sample, TraceFormat } from "../format.ts";
import { lengthPrompt, newRecorded, newRequest } from "../new-request.ts";
import { newTrace, toldBy } from "../new-trace.ts";
import { BadRow, RowAccount } from "../row-account.ts";
import { integerField, numberField, optionalBlockIds } from "../row-fields.ts";
import { readJsonlRows } from "../row-reader.ts";
import { mostRowsHave, objectRows } from "../sample.ts";
import type { Trace } from "../trace.ts";
import type { TracePrompt, TraceRequest } from "../trace-request.ts";

export const MOONCAKE_BLOCK = 512;
const TIMED_TRACE_BLOCK = 16;

export const mooncake: TraceFormat = {
  name: "mooncake",
  title: "Mooncake JSONL: timestamp (ms), input_length, output_length, hash_ids of 512 tokens",
  marks: ["timestamp", "input_length", "output_length"],
  detect: (sample) =>
    looksLikeRows(sample)
      ? fits(sample, TIMED_TRACE_BLOCK) && !fits(sample, MOONCAKE_BLOCK)
        ? 0.6
        : 0.8
      : 0,
  read: (path, options) => readRows("mooncake", path, options, options.blockTokens ?? MOONCAKE_BLOCK),
};

export const timedTrace: TraceFormat = {
  name: "timed_trace",
  title: "vLLM timed_trace JSONL: Mooncake rows with hash_ids of 16 tokens",
  detect: (sample) =>
    looksLikeRows(sample) && fits(sample, TIMED_TRACE_BLOCK) && !fits(sample, MOONCAKE_BLOCK) ? 0.85 : 0,
  read: (path, options) => readRows("timed_trace", path, options, options.blockTokens ?? TIMED_TRACE_BLOCK),
};

function looksLikeRows(sample: Sample): boolean {
  return mostRowsHave(sample, "timestamp", "input_length", "output_length");
}

/** Whether most first rows with ids have ceil(input ÷ block) of them. */
function fits(sample: Sample, block: number): boolean {
  const rows = objectRows(sample).filter((row) => Array.isArray(row["hash_ids"]));
  const right = rows.filter(
    (row) => (row["hash_ids"] as unknown[]).length === Math.ceil(Number(row["input_length"]) / block),
  );
  return rows.length > 0 && right.length * 2 > rows.length;
}

async function readRows(format: string, path: string, options: ReadOptions, block: number): Promise<Trace> {
  const account = new RowAccount(path, options);
  const requests: TraceRequest[] = [];
  const unit = options.timeUnitMs ?? 1;
  await readJsonlRows(path, account, (row, line) => {
    const request_id = `r${line}`;
    requests.push(
      newRequest({
        request_id,
        job_id: request_id,
        arrival_ms: numberField(row, "timestamp") * unit,
        prompt: blockPrompt(row, block),
        recorded: newRecorded({ output_tokens: integerField(row, "output_length", 1) }),
      }),
    );
  });
  return newTrace(format, account, {
    requests,
    provenance: {
      arrivals: "recorded",
      prompt_length: "recorded",
      output_length: "recorded",
      prefix_sharing: toldBy(requests).prefix_sharing,
    },
  });
}

/**
 * `input_length` with its `hash_ids`: as many as ceil(input ÷ block), which is Mooncake's rule; `orFloor` also takes
 * whole blocks only, for sources that do not say.
 */
export function blockPrompt(row: JsonObject, block: number, orFloor = false): TracePrompt {
  const tokens = integerField(row, "input_length", 1);
  const hash_ids = optionalBlockIds(row, "hash_ids");
  if (hash_ids === null) return lengthPrompt(tokens);
  const wanted = Math.ceil(tokens / block);
  if (hash_ids.length !== wanted && !(orFloor && hash_ids.length === Math.floor(tokens / block)))
    throw new BadRow(
      `${hash_ids.length} hash_ids for ${tokens} tokens; blocks of ${block} need ceil(${tokens}/${block}) = ${wanted}`,
    );
  return { kind: "length", tokens, hash_ids, block_tokens: block, hash_scope: null };
}
