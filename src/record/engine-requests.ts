/**
 * `engine-requests.jsonl`: what a server told of single requests by a side door, after they had ended. The log is written
 * already; readers of the run lay this over it.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { readLineBatches } from "../core/lines.ts";
import { writeFileAtomic } from "./atomic-file.ts";
import type { EngineTimes } from "./observation.ts";
import { redactedJson } from "./redacted-json.ts";
import type { RequestRecord } from "./request-record.ts";

const FILE = "engine-requests.jsonl";

/** Writes one line a request. */
export function writeEngineRequests(folder: string, times: ReadonlyMap<string, EngineTimes>): void {
  let text = "";
  for (const [request_id, engine] of times) text += `${redactedJson({ request_id, engine })}\n`;
  writeFileAtomic(join(folder, FILE), text);
}

/** The same records, with what the file tells of those whose reply told no engine times. */
export async function* withEngineRequests(
  folder: string,
  batches: AsyncIterable<readonly RequestRecord[]>,
): AsyncGenerator<readonly RequestRecord[]> {
  const told = await readEngineRequests(folder);
  if (told === null) {
    yield* batches;
    return;
  }
  for await (const batch of batches)
    yield batch.map((record) => {
      const engine = record.engine === null ? told.get(record.request_id) : undefined;
      return engine === undefined ? record : { ...record, engine };
    });
}

async function readEngineRequests(folder: string): Promise<ReadonlyMap<string, EngineTimes> | null> {
  const path = join(folder, FILE);
  if (!existsSync(path)) return null;
  const told = new Map<string, EngineTimes>();
  for await (const lines of readLineBatches(path))
    for (const { text } of lines) {
      const row = parse(text);
      if (row !== null) told.set(row.request_id, row.engine);
    }
  return told;
}

/** A damaged line tells nothing: the times are an extra. */
function parse(text: string): { request_id: string; engine: EngineTimes } | null {
  try {
    const row = JSON.parse(text) as { request_id?: unknown; engine?: Record<string, unknown> } | null;
    const engine = row?.engine;
    if (typeof row?.request_id !== "string" || typeof engine !== "object") return null;
    const number = (key: string): number | null => {
      const value = engine[key];
      return typeof value === "number" && Number.isFinite(value) ? value : null;
    };
    return {
      request_id: row.request_id,
      engine: {
        ...engine,
        queue_ms: number("queue_ms"),
        prefill_ms: number("prefill_ms"),
        decode_ms: number("decode_ms"),
        cached_tokens: number("cached_tokens"),
        source: String(engine["source"]),
      },
    };
  } catch {
    return null;
  }
}
