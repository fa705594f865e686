/** Reads `engine.jsonl`: what the server's own metrics said while the run lasted. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../core/json.ts";
import { readLineBatches } from "../core/lines.ts";
import type { Ms } from "../core/units.ts";

/** One sample. Keys beside `ms` are as the scraper wrote them. */
export type EngineSample = JsonObject & { readonly ms: Ms };

/** Samples in the order written; none where the run has no such file. A line that is no sample (cut by a kill) is left out. */
export async function* readEngineRows(folder: string): AsyncGenerator<EngineSample[]> {
  const path = join(folder, "engine.jsonl");
  if (!existsSync(path)) return;
  for await (const lines of readLineBatches(path)) {
    const batch: EngineSample[] = [];
    for (const { text } of lines) {
      const sample = parse(text);
      if (sample !== null) batch.push(sample);
    }
    yield batch;
  }
}

function parse(text: string): EngineSample | null {
  if (text === "") return null;
  try {
    const value: unknown = JSON.parse(text);
    if (value === null || typeof value !== "object" || Array.isArray(value)) return null;
    return Number.isFinite((value as JsonObject)["ms"]) ? (value as EngineSample) : null;
  } catch {
    return null;
  }
}
