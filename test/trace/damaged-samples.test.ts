/**
 * Damaged agent traces: fields of the samples replaced by junk or removed, a few hundred ways with fixed seeds. Whatever the damage, a
 * reader answers with a user's error or with a trace that keeps its promises: rows add up, nothing empty to send, times and
 * counts sane, jobs that resolve. The samples live outside the repository; without them this says so and skips.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { UserError } from "../../src/core/failure.ts";
import { formatNamed } from "../../src/trace/formats/index.ts";
import { resolveJobs } from "../../src/trace/jobs.ts";
import type { Trace } from "../../src/trace/trace.ts";
import { jsonl, readWritten, rowsAddUp } from "./written-trace.ts";

const data = join(dirname(fileURLToPath(import.meta.url)), "../../../shared/data");
const samples: Record<string, string> = {
  weka: "weka/trace_0291.json",
  "mlperf-agentic": "mlperf-agentic/agentic_coding.6.jsonl",
  tracelab: "tracelab/sanitized/round_trace.jsonl",
  otel: "otel/prefix_sharing_example.json",
  langfuse: "langfuse/openai-agents-2025-09-30.trace.json",
  "claude-code": "claude-code/claude-code-log_representative_messages.jsonl",
  codex: "codex/ccusage_codex_session.jsonl",
  openhands: "openhands/basic.json",
  "openhands-sdk": "openhands/sdk_events.jsonl",
  "openhands-llm-log": "openhands/llm-logs/litellm_proxy__deepseek__deepseek-chat-1757015054.055.json",
  "inspect-ai": "inspect-ai/2025-05-12T20-28-26-04-00_security-guide.json",
  atif: "atif/exmp02_atif.json",
  "swe-agent": "swe-agent/marshmallow-1867__function_calling.traj",
  "tau-bench": "tau-bench/gpt-4o-airline.10.json",
};
const JUNK: readonly unknown[] = [
  null,
  0,
  -1,
  1.5,
  "",
  "x",
  "2020-01-01T00:00:00Z",
  [],
  {},
  [1],
  ["a"],
  { a: 1 },
  true,
  1e18,
  [null],
  { content: null },
];
const RUNS = 24;

type Holder = Record<string, unknown> | unknown[];
const isHolder = (value: unknown): value is Holder => typeof value === "object" && value !== null;

/** Every place of a value, block ids left out (they are many and all alike). */
function placesOf(value: unknown, found: [Holder, string][] = []): [Holder, string][] {
  if (!isHolder(value)) return found;
  for (const key of Object.keys(value)) {
    found.push([value, key]);
    if (key !== "hash_ids") placesOf((value as Record<string, unknown>)[key], found);
  }
  return found;
}

function damage(value: unknown, seed: number): unknown {
  let state = seed;
  const below = (limit: number): number => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return Math.floor((state / 4_294_967_296) * limit);
  };
  const copy = structuredClone(value);
  const places = placesOf(copy);
  for (let times = 1 + below(4); times > 0; times--) {
    const [holder, key] = places[below(places.length)] as [Holder, string];
    if (below(3) > 0) (holder as Record<string, unknown>)[key] = structuredClone(JUNK[below(JUNK.length)]);
    else if (Array.isArray(holder)) holder.splice(Number(key), 1);
    else delete holder[key];
  }
  return copy;
}

function check(trace: Trace): void {
  expect(rowsAddUp(trace)).toBe(true);
  for (const { prompt, think_ms, arrival_ms, recorded } of trace.requests) {
    if (prompt.kind === "messages") expect(prompt.messages.length).toBeGreaterThan(0);
    if (prompt.kind === "length") expect(prompt.tokens).toBeGreaterThan(0);
    if (think_ms !== null) expect(think_ms).toBeGreaterThanOrEqual(0);
    if (arrival_ms !== null) expect(Number.isFinite(arrival_ms)).toBe(true);
    for (const count of [recorded?.prompt_tokens, recorded?.output_tokens, recorded?.cached_tokens])
      if (count != null) expect(Number.isInteger(count) && count >= 0).toBe(true);
  }
  resolveJobs(trace.requests);
}

describe("damaged samples", () => {
  if (!existsSync(data))
    it("the sample data is not there", (context) => context.skip("no ../shared/data beside the repository"));

  for (const [name, file] of existsSync(data) ? Object.entries(samples) : []) {
    it(`${name} keeps its promises`, async () => {
      const format = formatNamed(name);
      if (format === undefined) throw new Error(`no reader for ${name}`);
      const text = readFileSync(join(data, file), "utf8");
      const lines = file.endsWith(".jsonl");
      const whole: unknown = lines
        ? text
            .split("\n")
            .filter((line) => line !== "")
            .slice(0, 20)
            .map((line): unknown => JSON.parse(line))
        : JSON.parse(text);
      for (let seed = 1; seed <= RUNS; seed++) {
        const damaged = damage(whole, seed);
        const content = lines ? jsonl(damaged as unknown[]) : damaged;
        let trace: Trace;
        try {
          trace = await readWritten(format, content, { skipBad: true });
        } catch (error) {
          // With skipBad only a document that is none of this format at all may end the reading.
          expect(error).toBeInstanceOf(UserError);
          continue;
        }
        check(trace);
      }
    });
  }
});
