/** Anonymized traces: no text, no key, the same sharing. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anonymizeTrace } from "./anonymize.ts";
import { resolveJobs } from "./jobs.ts";
import { newProvenance, newRecorded, newRequest } from "./new-request.ts";
import { optimalPrefixReuse } from "./prefix.ts";
import type { Trace } from "./trace.ts";
import type { TracePrompt, TraceRequest } from "./trace-request.ts";
import { traceLines } from "./writer.ts";

/** A tokenizer of one token a character. */
const encode = (text: string): number[] => Array.from(text, (char) => char.codePointAt(0) as number);
const key = "KEYCANARY";

function traceOf(requests: readonly TraceRequest[]): Trace {
  return {
    format: "reprise",
    path: "/home/SECRET/x.jsonl",
    header: { reprise_trace: 1, source: "SECRET" },
    requests,
    rows: { read: 0, used: 0, skipped: {}, refused: 0 },
    faults: [{ file: "SECRET", line: 1, reason: "SECRET" }],
    provenance: newProvenance({ prompt_text: "recorded" }),
    notes: ["SECRET"],
  };
}
function row(at: number, prompt: TracePrompt, told: Partial<TraceRequest> = {}): TraceRequest {
  return newRequest({
    request_id: `SECRET-${at}`,
    job_id: "SECRET-job",
    arrival_ms: 1_700_000_000_000 + at,
    prompt,
    ...told,
  });
}

describe("anonymizeTrace", () => {
  it("leaves no text, name, id, metadata, calendar time or key in the file", () => {
    const trace = traceOf([
      row(
        0,
        { kind: "text", text: "SECRET prompt" },
        { agent: "SECRET", response_text: "SECRET!", metadata: { user: "SECRET" } },
      ),
      row(
        5,
        { kind: "messages", messages: [{ role: "user", content: "SECRET" }], tools: [{ name: "SECRET" }] },
        {
          after: ["SECRET-0"],
          tool: [{ name: "SECRET", ms: 3 }],
          params: { user: "SECRET", top_p: 0.5, stop: ["SECRET"] },
        },
      ),
      row(9, { kind: "length", tokens: 20, hash_ids: ["SECRET"], block_tokens: 16, hash_scope: "SECRET" }),
    ]);
    const anonymous = anonymizeTrace(trace, { key, encode, blockTokens: 4 });
    const text = [...traceLines(anonymous)].join("\n");
    expect(text).not.toMatch(/SECRET|KEYCANARY|17000000/);
    expect(anonymous.requests.map(({ arrival_ms }) => arrival_ms)).toEqual([0, 5, 9]);
    // "SECRET prompt" is 13 tokens, 3 whole blocks; its answer was 7.
    expect(anonymous.requests.at(0)?.prompt).toMatchObject({ kind: "length", tokens: 13, block_tokens: 4 });
    expect(anonymous.requests.at(0)?.prompt).toHaveProperty("hash_ids.length", 3);
    expect(anonymous.requests.at(0)?.recorded?.output_tokens).toBe(7);
    expect(anonymous.requests.at(1)?.params).toEqual({ top_p: 0.5 });
    expect(anonymous.requests.at(1)?.after).toEqual([anonymous.requests.at(0)?.request_id]);
    // The third has no answer to count.
    expect(anonymous.provenance).toMatchObject({
      prompt_text: "missing",
      prompt_length: "inferred",
      output_length: "missing",
    });
    const answered = traceOf([row(0, { kind: "text", text: "SECRET" }, { response_text: "SECRET!" })]);
    expect(anonymizeTrace(answered, { key, encode }).provenance.output_length).toBe("inferred");
  });

  it("keeps the prefix structure: reuse equals that of the token ids, to the block", () => {
    const texts = fc.array(
      fc.array(fc.constantFrom("a", "b"), { minLength: 1, maxLength: 24 }).map((chars) => chars.join("")),
      { minLength: 1, maxLength: 12 },
    );
    fc.assert(
      fc.property(texts, (prompts) => {
        const anonymous = anonymizeTrace(
          traceOf(prompts.map((text, at) => row(at, { kind: "text", text }))),
          { key, encode, blockTokens: 4 },
        );
        let expected = 0;
        prompts.forEach((text, at) => {
          let best = 0;
          for (const earlier of prompts.slice(0, at)) {
            let same = 0;
            while (same < Math.min(text.length, earlier.length) && text[same] === earlier[same]) same++;
            best = Math.max(best, Math.floor(same / 4) * 4);
          }
          expected += best;
        });
        expect(optimalPrefixReuse(resolveJobs(anonymous.requests)).overall.cached_tokens).toBe(expected);
      }),
    );
  });

  it("names depend on the key, and on it alone", () => {
    const trace = traceOf([
      row(0, { kind: "text", text: "abcdefgh" }, { recorded: newRecorded({ output_tokens: 3 }) }),
    ]);
    const names = (secret: string): unknown =>
      anonymizeTrace(trace, { key: secret, encode, blockTokens: 4 }).requests.at(0)?.prompt;
    expect(names("k1")).toEqual(names("k1"));
    expect(names("k1")).not.toEqual(names("k2"));
    expect(() => names("")).toThrow("empty key");
  });

  it("keeps ids and strings apart, and scopes", () => {
    const blocks = (id: number | string, scope: string | null): TracePrompt => ({
      kind: "length",
      tokens: 4,
      hash_ids: [id],
      block_tokens: 4,
      hash_scope: scope,
    });
    const rows = [blocks(1, null), blocks("1", null), blocks(1, "s"), blocks(1, null)].map((prompt, at) =>
      row(at, prompt),
    );
    const { requests } = anonymizeTrace(traceOf(rows), { key, encode });
    const ids = requests.map(({ prompt }) => (prompt.kind === "length" ? prompt.hash_ids?.[0] : null));
    expect(new Set(ids).size).toBe(3);
    expect(ids[3]).toBe(ids[0]);
  });
});
