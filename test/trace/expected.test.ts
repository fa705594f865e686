/**
 * Every sample trace, read by its reader and inspected, against counts made by an independent parser
 * (`data/expected.json`). The samples live outside the repository; without them this says so and skips.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { formatNamed } from "../../src/trace/formats/index.ts";
import { inspectTrace } from "../../src/trace/inspect.ts";
import { readTrace } from "../../src/trace/reader.ts";

interface Entry {
  readonly file: string;
  readonly format: string;
  readonly jobs: number;
  readonly turns: number;
  readonly prompt_tokens: number | null;
  readonly output_tokens: number | null;
  readonly span_ms: number | null;
  readonly open?: readonly string[];
  /** Lines that must be named as faults. */
  readonly refuse?: readonly number[];
}

const KEYS = ["jobs", "turns", "prompt_tokens", "output_tokens", "span_ms"] as const;
const data = join(dirname(fileURLToPath(import.meta.url)), "../../../shared/data");
const entries: readonly Entry[] = existsSync(join(data, "expected.json"))
  ? (JSON.parse(readFileSync(join(data, "expected.json"), "utf8")) as Entry[])
  : [];

describe("sample traces", () => {
  if (entries.length === 0)
    it("the sample data is not there", (context) => context.skip("no ../shared/data beside the repository"));

  for (const entry of entries) {
    const known = formatNamed(entry.format) !== undefined;
    it.skipIf(!known)(`${known ? "" : `SKIPPED, no reader for ${entry.format}: `}${entry.file}`, async () => {
      const trace = await readTrace(join(data, entry.file), { skipBad: entry.refuse !== undefined });
      const found = inspectTrace(trace);
      expect(found.format).toBe(entry.format);
      for (const key of KEYS) {
        if (entry.open?.includes(key) === true) continue;
        const wanted = entry[key];
        if (key === "span_ms" && wanted !== null) expect(found.span_ms, key).toBeCloseTo(wanted, 4);
        else expect(found[key], key).toBe(wanted);
      }
      const { read, used, skipped, refused } = found.rows;
      expect(read).toBe(used + Object.values(skipped).reduce((a, b) => a + b, 0) + refused);
      if (entry.refuse === undefined) expect(found.faults).toEqual([]);
      else expect(found.faults.map(({ line }) => line)).toEqual(entry.refuse);
    });
  }

  it.skipIf(entries.length === 0)(
    "Mooncake's optimal reuse is that of a count by a set of names",
    async () => {
      // Its ids name whole prefixes, so a set of ids is enough; 26,934,903 of 76,504,042 tokens by such a count.
      const { prefix } = inspectTrace(await readTrace(join(data, "mooncake/conversation_trace.head.jsonl")));
      expect([prefix.overall.cached_tokens, prefix.overall.prompt_tokens]).toEqual([26_934_903, 76_504_042]);
      expect(prefix.within_jobs.cached_tokens).toBe(0);
    },
  );
});
