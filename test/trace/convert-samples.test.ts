/** Every sample trace, written in our format and read back: the same jobs, order, waits, lengths and sharing. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { anonymizeTrace } from "../../src/trace/anonymize.ts";
import { formatNamed } from "../../src/trace/formats/index.ts";
import { inspectTrace } from "../../src/trace/inspect.ts";
import { resolveJobs } from "../../src/trace/jobs.ts";
import { readTrace } from "../../src/trace/reader.ts";
import type { Trace } from "../../src/trace/trace.ts";
import { traceLines, writeLines } from "../../src/trace/writer.ts";

const data = join(dirname(fileURLToPath(import.meta.url)), "../../../shared/data");
const list = join(data, "expected.json");
const entries: readonly { file: string; format: string; refuse?: unknown }[] = existsSync(list)
  ? (JSON.parse(readFileSync(list, "utf8")) as { file: string; format: string; refuse?: unknown }[])
  : [];
const folder = mkdtempSync(join(tmpdir(), "reprise-convert-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** What a replay rests on. */
function shape(trace: Trace): unknown {
  const { jobs, turns, prompt_tokens, output_tokens, span_ms, prefix, provenance } = inspectTrace(trace);
  return {
    counts: [jobs, turns, prompt_tokens, output_tokens, span_ms === null ? null : Math.round(span_ms * 1000)],
    cached: [prefix.overall.cached_tokens, prefix.within_jobs.cached_tokens],
    provenance,
    graph: resolveJobs(trace.requests).map(({ job_id, budget_ms, turns: own }) => [
      job_id,
      budget_ms,
      own.map(({ request, parents, think_ms, think_origin }) => [
        request.request_id,
        parents,
        think_ms === null ? null : Math.round(think_ms * 1000),
        think_origin,
      ]),
    ]),
  };
}

describe("sample traces in our format", () => {
  if (entries.length === 0)
    it("the sample data is not there", (context) => context.skip("no ../shared/data beside the repository"));

  it.each(entries.filter(({ format }) => formatNamed(format) !== undefined))(
    "$file",
    async ({ file, refuse }) => {
      const trace = await readTrace(join(data, file), { skipBad: refuse !== undefined });
      const path = join(folder, file.replaceAll("/", "_"));
      await writeLines(path, traceLines(trace));
      const back = await readTrace(path);
      expect(back.format).toBe("reprise");
      expect(back.rows.refused).toBe(0);
      expect(shape(back)).toEqual(shape(trace));
    },
  );

  it.each(
    entries.filter(({ format }) => ["lmcache", "tau-bench", "mooncake", "mlperf-agentic"].includes(format)),
  )("$file, anonymized: the same jobs and waits, and none of its words", async ({ file }) => {
    const trace = await readTrace(join(data, file));
    const words = (text: string): number[] => (text.match(/\S+\s*/g) ?? []).map((word) => word.length);
    const anonymous = anonymizeTrace(trace, { key: "k", encode: words, blockTokens: 8 });
    const path = join(folder, `anonymous_${file.replaceAll("/", "_")}`);
    await writeLines(path, traceLines(anonymous));
    const back = await readTrace(path);
    const graph = (of: Trace): unknown =>
      resolveJobs(of.requests).map(({ turns }) => turns.map(({ parents, think_ms }) => [parents, think_ms]));
    expect(graph(back)).toEqual(graph(trace));
    expect(readFileSync(path, "utf8")).not.toMatch(/flight|assistant|"content"|user_id/);
  });
});
