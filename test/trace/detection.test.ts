/**
 * Detection must not confuse formats: every sample is claimed by one format alone, with the highest score. The samples live
 * outside the repository; without them this says so and skips.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { FORMATS } from "../../src/trace/formats/index.ts";
import { takeSample } from "../../src/trace/sample.ts";

const data = join(dirname(fileURLToPath(import.meta.url)), "../../../shared/data");
const entries = existsSync(join(data, "expected.json"))
  ? (JSON.parse(readFileSync(join(data, "expected.json"), "utf8")) as { file: string; format: string }[])
  : [];
/** Samples without counts in expected.json. */
const further: readonly { file: string; format: string }[] = [
  { file: "tracelab/claude/trace.json", format: "claude-code" },
  { file: "tracelab/codex/trace.json", format: "codex" },
  { file: "inspect-ai/log_tool_call_error.json", format: "inspect-ai" },
];
/** Files beside the samples that are no traces of these formats: schemas, plain text. */
const strangers = [
  "otel/gen-ai-input-messages.json",
  "otel/gen-ai-output-messages.json",
  "mlperf-agentic/agentic_inference_dataset_schema.json",
  "sonnet/sonnet.txt",
];

describe("detection", () => {
  if (entries.length === 0)
    it("the sample data is not there", (context) => context.skip("no ../shared/data beside the repository"));

  for (const { file, format } of entries.length > 0 ? [...entries, ...further] : []) {
    it(`${file} is ${format} alone`, async () => {
      const sample = await takeSample(join(data, file));
      const scores = FORMATS.map((candidate) => ({ name: candidate.name, score: candidate.detect(sample) }));
      const best = Math.max(...scores.map(({ score }) => score));
      expect(scores.filter(({ score }) => score === best)).toEqual([{ name: format, score: best }]);
      expect(best).toBeGreaterThan(0.5);
    });
  }

  for (const file of entries.length > 0 ? strangers : []) {
    it(`${file} is none`, async () => {
      const sample = await takeSample(join(data, file));
      expect(FORMATS.filter((format) => format.detect(sample) > 0).map(({ name }) => name)).toEqual([]);
    });
  }
});
