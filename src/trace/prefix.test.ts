/** Optimal prefix reuse: hand-counted cases, and a naive set-of-prefixes count as the other opinion. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { resolveJobs } from "./jobs.ts";
import { lengthPrompt, newRecorded, newRequest } from "./new-request.ts";
import { optimalPrefixReuse, type PrefixReuse } from "./prefix.ts";
import type { BlockId, TracePrompt, TraceRequest } from "./trace-request.ts";

let count = 0;
function row(job_id: string, prompt: TracePrompt, told: Partial<TraceRequest> = {}): TraceRequest {
  return newRequest({ request_id: `r${count++}`, job_id, prompt, arrival_ms: count, ...told });
}
function blocks(
  tokens: number,
  hash_ids: BlockId[],
  hash_scope: string | null = null,
  block_tokens = 10,
): TracePrompt {
  return { kind: "length", tokens, hash_ids, block_tokens, hash_scope };
}
function reuse(rows: readonly TraceRequest[]): PrefixReuse {
  return optimalPrefixReuse(resolveJobs(rows));
}

describe("optimalPrefixReuse", () => {
  it("counts leading blocks seen before; the last block may be cut; ids after a miss do not count", () => {
    const result = reuse([
      row("a", blocks(25, [1, 2, 3])), // 0 of 25
      row("a", blocks(38, [1, 2, 4, 5])), // blocks 1, 2: 20 of 38
      row("b", blocks(25, [1, 2, 3])), // all of 25 (10 + 10 + 5)
      row("b", blocks(30, [9, 2, 3])), // 0 of 30: 9 is new
    ]);
    expect(result.overall).toEqual({ turns: 4, prompt_tokens: 118, cached_tokens: 45, hit_rate: 45 / 118 });
    expect(result.within_jobs).toEqual({
      turns: 4,
      prompt_tokens: 118,
      cached_tokens: 20,
      hit_rate: 20 / 118,
    });
    expect(result.shared.at(1).cached_tokens).toBe(25);
    expect(result.alone.at(1).cached_tokens).toBe(0);
    expect([result.method, result.estimated, result.unknown_turns]).toEqual(["blocks", false, 0]);
  });

  it("floor coverage leaves the rest unshared; scopes keep equal ids apart; a bare length is unknown", () => {
    const result = reuse([
      row("a", blocks(25, [1, 2], "a")),
      row("b", blocks(25, [1, 2], "b")),
      row("a", blocks(25, [1, 2], "a")),
      row("c", lengthPrompt(1000)),
    ]);
    expect(result.overall).toEqual({ turns: 3, prompt_tokens: 75, cached_tokens: 20, hit_rate: 20 / 75 });
    expect(result.unknown_turns).toBe(1);
  });

  it("strings of digits name other blocks than their rounded numbers", () => {
    const result = reuse([
      row("a", blocks(10, ["14879255164371896291"])),
      row("a", blocks(10, ["14879255164371896292"])),
    ]);
    expect(result.overall.cached_tokens).toBe(0);
  });

  it("token ids to the token; text in steps of 32 bytes; nothing known is null", () => {
    const ids = reuse([
      row("a", { kind: "ids", ids: [5, 6, 7] }),
      row("a", { kind: "ids", ids: [5, 6, 8, 9] }),
    ]);
    expect(ids.overall).toEqual({ turns: 2, prompt_tokens: 7, cached_tokens: 2, hit_rate: 2 / 7 });
    const text = "x".repeat(64);
    const result = reuse([
      row("a", { kind: "text", text }, { recorded: newRecorded({ prompt_tokens: 16 }) }),
      row(
        "a",
        { kind: "text", text: `${text}${"y".repeat(64)}` },
        { recorded: newRecorded({ prompt_tokens: 30 }) },
      ),
    ]);
    // 64 of 128 characters: 15 of 30 tokens.
    expect(result.overall).toEqual({ turns: 2, prompt_tokens: 46, cached_tokens: 15, hit_rate: 15 / 46 });
    expect([result.method, result.estimated]).toEqual(["text", true]);
    expect(reuse([row("a", lengthPrompt(5))]).overall.hit_rate).toBeNull();
    expect(reuse([row("a", lengthPrompt(5))]).method).toBeNull();
  });

  it("messages: a history that grows is reused up to what is new", () => {
    const message = (role: string, size: number): { role: string; content: string } => ({
      role,
      content: role[0]?.repeat(size) ?? "",
    });
    const first = [message("system", 1000)];
    const second = [message("system", 1000), message("user", 1000)];
    const result = reuse([
      row("a", { kind: "messages", messages: first, tools: null }),
      row("a", { kind: "messages", messages: second, tools: null }),
    ]);
    // {"role":"system","content":"…"}: 1031 characters → 258 tokens; with the user's 1029: 2060 → 515.
    expect(result.overall.prompt_tokens).toBe(258 + 515);
    expect(result.overall.cached_tokens).toBe(Math.floor((515 * 1031) / 2060));
  });

  it("text agrees with a naive count of equal beginnings, whatever is in it", () => {
    const pieces = fc.constantFrom("a".repeat(31), "é".repeat(16), "\n", "b", "b".repeat(64));
    const letters = fc.array(pieces, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(fc.array(letters, { minLength: 1, maxLength: 12 }), (texts) => {
        const seen: Buffer[] = [];
        let [cached, tokens] = [0, 0];
        for (const text of texts) {
          const bytes = Buffer.from(JSON.stringify(text)).subarray(1, -1);
          const steps = (other: Buffer): number => {
            let from = 0;
            while (
              from < bytes.length &&
              bytes.subarray(from, from + 32).equals(other.subarray(from, from + 32))
            )
              from += 32;
            return Math.min(from, bytes.length);
          };
          const own = Math.ceil(text.length / 4);
          cached += Math.floor((own * Math.max(0, ...seen.map(steps))) / bytes.length);
          tokens += own;
          seen.push(bytes);
        }
        const result = reuse(texts.map((text, i) => row(`j${i}`, { kind: "text", text })));
        expect([result.overall.prompt_tokens, result.overall.cached_tokens]).toEqual([tokens, cached]);
      }),
    );
  });

  it("agrees with a naive count over sets of prefixes", () => {
    const trace = fc.array(
      fc.record({
        job: fc.constantFrom("a", "b", "c"),
        scope: fc.constantFrom(null, "s"),
        ids: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 6 }),
        cut: fc.integer({ min: 0, max: 9 }),
      }),
      { maxLength: 25 },
    );
    fc.assert(
      fc.property(trace, (rows) => {
        const requests = rows.map(({ job, scope, ids, cut }, i) =>
          row(job, blocks(Math.max(0, ids.length * 10 - cut), ids, scope), { turn: i + 1, arrival_ms: i }),
        );
        const naive = (cacheOf: (job: string) => string): number => {
          const caches = new Map<string, Set<string>>();
          let cached = 0;
          for (const { job, scope, ids, cut } of rows) {
            const cache = caches.get(cacheOf(job)) ?? new Set<string>();
            caches.set(cacheOf(job), cache);
            let hits = 0;
            while (hits < ids.length && cache.has(`${scope}:${ids.slice(0, hits + 1).join()}`)) hits++;
            ids.forEach((_, i) => cache.add(`${scope}:${ids.slice(0, i + 1).join()}`));
            cached += Math.min(hits * 10, Math.max(0, ids.length * 10 - cut));
          }
          return cached;
        };
        const result = reuse(requests);
        expect(result.overall.cached_tokens).toBe(naive(() => "all"));
        expect(result.within_jobs.cached_tokens).toBe(naive((job) => job));
      }),
    );
  });
});
