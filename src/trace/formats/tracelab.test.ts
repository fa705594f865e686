/** TraceLab rounds: send and end instants, and prefix blocks named from what the provider had cached. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { jsonl, linksOf, readWritten } from "../../../test/trace/written-trace.ts";
import { resolveJobs } from "../jobs.ts";
import { optimalPrefixReuse } from "../prefix.ts";
import { readTrace } from "../reader.ts";
import type { Trace } from "../trace.ts";
import { tracelab } from "./tracelab.ts";

const T0 = Date.UTC(2026, 5, 1);
const event = (type: string, at: number): object => ({
  event_type: type,
  timestamp: new Date(T0 + at).toISOString(),
});
const round = (
  session: string,
  index: number,
  prefix: number,
  fresh: number,
  events: object[],
  more: object = {},
): object => ({
  provider: "p",
  model: "m",
  session_id: session,
  round_index: index,
  input_tokens_total: prefix + fresh,
  prefix_tokens: prefix,
  newly_append_tokens: fresh,
  output_tokens: 7,
  timing_events: events,
  tools: [],
  ...more,
});
const read = (rows: readonly unknown[], skipBad = false): Promise<Trace> =>
  readWritten(tracelab, jsonl(rows), { name: "rounds.jsonl", skipBad });

describe("tracelab", () => {
  const tools = [
    { tool_name: "Bash", tool_wall_latency_ms: 900 },
    { tool_name: "Web", tool_wall_latency_ms: null },
  ];
  const rows = [
    // rounds out of order; sent at the latest input, ended at the latest other event
    round("a", 1, 1280, 640, [event("tool_result", 3000), event("tool_result", 3900), event("text", 6000)]),
    round("a", 0, 640, 640, [event("user_message", 0), event("reasoning", 1000), event("tool_call", 2500)], {
      tools,
    }),
    round("b", 0, 640, 64, [event("user_message", 10_000), event("text", 11_000)]),
    round("a", 2, 128, 64, [event("user_message", 9000), event("usage_report", 9500)]),
  ];

  it("places requests and their think time", async () => {
    const trace = await read(rows);
    expect(linksOf(trace)).toEqual({
      "a/0": [[], null],
      "a/1": [["a/0"], 1400], // 3900 − 2500
      "a/2": [["a/1"], 3000],
      "b/0": [[], null],
    });
    expect(trace.requests.map(({ request_id, arrival_ms, tool }) => [request_id, arrival_ms, tool])).toEqual([
      ["a/0", 0, null],
      ["a/1", 3900, [{ name: "Bash", ms: 900 }]],
      ["a/2", 9000, null],
      ["b/0", 10_000, null],
    ]);
  });

  it("keeps the shared prefix: recorded cached tokens come back as equal blocks", async () => {
    const { requests } = await read(rows);
    const blocks = Object.fromEntries(
      requests.map(({ request_id, prompt }) => [
        request_id,
        prompt.kind === "length" ? (prompt.hash_ids ?? []) : [],
      ]),
    );
    expect(blocks["a/0"]).toHaveLength(20);
    expect(blocks["a/1"]?.slice(0, 20)).toEqual(blocks["a/0"]);
    expect(blocks["a/2"]?.slice(0, 2)).toEqual(blocks["a/0"]?.slice(0, 2));
    expect(blocks["a/2"]?.[2]).not.toEqual(blocks["a/0"]?.[2]); // only 128 of 192 tokens were found cached
    expect(blocks["b/0"]?.slice(0, 10)).toEqual(blocks["a/0"]?.slice(0, 10)); // the start all sessions share
    expect(blocks["b/0"]?.[10]).not.toEqual(blocks["a/0"]?.[10]);
    expect(optimalPrefixReuse(resolveJobs(requests)).overall.cached_tokens).toBe(1280 + 128 + 640);
  });

  it("refuses rounds that contradict themselves or come twice", async () => {
    await expect(read([{ ...round("a", 0, 5, 5, []), prefix_tokens: 6 }])).rejects.toThrow(
      /rounds\.jsonl:1: "input_tokens_total" 10 is not/,
    );
    await expect(read([rows[1], rows[1]])).rejects.toThrow(
      /rounds\.jsonl:2: round 0 of "a" occurs twice \(first in line 1\)/,
    );
    const trace = await read([rows[1], { ...round("a", 1, 5, 5, []), output_tokens: -1 }], true);
    expect(trace.rows).toEqual({ read: 2, used: 1, skipped: {}, refused: 1 });
  });

  const data = join(dirname(fileURLToPath(import.meta.url)), "../../../../shared/data/tracelab");
  it.skipIf(!existsSync(data))(
    `agrees with the raw logs it was made from (skipped without ${data})`,
    async () => {
      const rounds = await readTrace(join(data, "sanitized/round_trace.jsonl"));
      for (const vendor of ["claude", "codex"]) {
        const raw = await readTrace(join(data, vendor, "trace.json"));
        const own = rounds.requests.filter(({ job_id }) => job_id.startsWith(vendor));
        const counts = (trace: Pick<Trace, "requests">): unknown =>
          trace.requests.map(({ recorded }) => [
            recorded?.prompt_tokens,
            recorded?.output_tokens,
            recorded?.cached_tokens,
          ]);
        expect(counts(raw)).toEqual(counts({ requests: own }));
      }
    },
  );
});
