/** Planned against achieved lengths, and where prefix-cache rates come from. */
import { describe, expect, it } from "vitest";
import { summarize } from "../../../test/support/analyse-records.ts";
import { record } from "../../../test/support/run-samples.ts";

describe("fidelity and prefix cache", () => {
  it("tells planned from achieved lengths", async () => {
    const rows = [1000, 1000, 2000].map((planned, i) =>
      record({
        end_ms: 1,
        planned_prompt_tokens: planned,
        prompt_tokens: planned + [27, 27, 54][i]!,
        planned_output_tokens: 10,
        output_tokens: [10, 8, 12][i]!,
      }),
    );
    const { fidelity } = await summarize([...rows, record({ end_ms: 1, planned_prompt_tokens: 5 })]);
    expect(fidelity.prompt_tokens.n).toBe(3);
    expect(fidelity.prompt_tokens.bias_share).toBeCloseTo(0.027, 12);
    expect(fidelity.prompt_tokens.bias_tokens).toBe(36);
    // |difference| 27, 27, 54: p95 at position 1.9.
    expect(fidelity.prompt_tokens.p95_difference_tokens).toBeCloseTo(51.3, 9);
    expect(fidelity.output_tokens).toMatchObject({
      n: 3,
      bias_tokens: 0,
      bias_share: 0,
      p95_difference_tokens: 2,
    });
  });

  it("takes hit rates from the requests, else from the engine's counters", async () => {
    const rows = [
      record({ end_ms: 1, prompt_tokens: 100, cached_tokens: 90 }),
      record({
        end_ms: 1,
        prompt_tokens: 300,
        engine: { queue_ms: null, prefill_ms: null, decode_ms: null, cached_tokens: 110, source: "x" },
      }),
      record({ end_ms: 1, prompt_tokens: 999 }),
    ];
    const plan = { optimal_hit_rate: 0.75 };
    expect((await summarize(rows, { plan })).prefix_cache).toEqual({
      optimal_hit_rate: 0.75,
      hit_rate: 0.5,
      source: "requests",
      shortfall: 0.25,
      n: 2,
    });
    const silent = [record({ end_ms: 1, prompt_tokens: 100 })];
    const end = { engine: { hit_rate: 0.4 } };
    expect((await summarize(silent, { plan, end })).prefix_cache).toMatchObject({
      hit_rate: 0.4,
      source: "engine_counters",
    });
    expect((await summarize(silent, { plan })).prefix_cache).toMatchObject({
      hit_rate: null,
      source: null,
      shortfall: null,
    });
  });
});
