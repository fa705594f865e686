/** Prefill and queueing apart: told by the server, estimated from the run, or from a calibration pass. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { analyse, server, turn } from "../../../test/support/analyse-records.ts";
import { record } from "../../../test/support/run-samples.ts";
import type { RequestRecord } from "../../record/request-record.ts";
import { readCalibration } from "../calibration.ts";
import { lowerEnvelope } from "./engine_split.ts";

describe("the split of ttft", () => {
  it("is an estimate from the lower envelope where the server does not tell", async () => {
    const at = (id: string, tokens: number, ttft: number, cached = 0): RequestRecord =>
      record({
        request_id: id,
        sent_ms: 0,
        first_token_ms: ttft,
        last_token_ms: ttft,
        end_ms: ttft,
        prompt_tokens: tokens,
        cached_tokens: cached,
      });
    // Unloaded 100 tokens take 20, 1100 take 120; 600 lie at 70 between them; 100 uncached of 900 at 20.
    const rows = [at("a", 100, 20), at("b", 1100, 120), at("c", 600, 270), at("d", 900, 50, 800)];
    const { jobs, summary } = await analyse(rows);
    const split = [0, 1, 2, 3].map((job) => jobs.row(job).breakdown_ms);
    expect(split.map((own) => own?.prefill)).toEqual([20, 120, 70, 20]);
    expect(split.map((own) => own?.engine_queue)).toEqual([0, 0, 200, 30]);
    expect(summary.jobs.engine_split).toMatchObject({ basis: "estimate", estimated_from: "envelope" });
  });

  it("is scaled to the engine's own mean prefill time where its counters were scraped", async () => {
    const at = (id: string, tokens: number, ttft: number): RequestRecord =>
      record({
        request_id: id,
        sent_ms: 0,
        first_token_ms: ttft,
        last_token_ms: ttft,
        end_ms: ttft,
        prompt_tokens: tokens,
      });
    // Envelope 40, 80, 80: scaled by half it is 20, 40, 40, the mean of which is 100 ÷ 3.
    const rows = [at("a", 100, 40), at("b", 200, 80), at("c", 200, 500)];
    const end = { engine: { prefill_mean_ms: 100 / 3 } };
    const { jobs, summary } = await analyse(rows, [], {}, { end });
    const prefill = [0, 1, 2].map((job) => jobs.row(job).breakdown_ms?.prefill as number);
    for (const [i, want] of [20, 40, 40].entries()) expect(prefill[i]).toBeCloseTo(want, 6);
    expect(summary.jobs.engine_split).toMatchObject({ basis: "estimate", estimated_from: "engine_counters" });
    // More than the ttfts hold: all of ttft is prefill.
    const all = await analyse(rows, [], {}, { end: { engine: { prefill_mean_ms: 1e9 } } });
    expect(all.summary.jobs.breakdown_ms.engine_queue).toBeCloseTo(0, 6);
  });

  it("never takes more than the ttft, and mixes with what the server tells", async () => {
    const rows = [
      turn("a", [0, 0, 40, 50, 50], { ...server(100), job_id: "a" }),
      turn("b", [0, 0, 40, 50, 50], { job_id: "b", prompt_tokens: 10 }),
    ];
    const { jobs, summary } = await analyse(rows);
    expect(jobs.row(0).breakdown_ms).toMatchObject({ prefill: 40, engine_queue: 0 });
    expect(summary.jobs.engine_split).toMatchObject({ basis: "mixed", server: 1, estimated: 1 });
  });

  it("property: the envelope lies below every point, is convex and never falls", () => {
    const point = fc.record({
      tokens: fc.integer({ min: 0, max: 5000 }),
      ttft_ms: fc.integer({ min: 0, max: 100_000 }),
    });
    fc.assert(
      fc.property(fc.array(point, { minLength: 1, maxLength: 40 }), (points) => {
        const envelope = lowerEnvelope(points);
        for (const { tokens, ttft_ms } of points)
          expect(envelope(tokens)).toBeLessThanOrEqual(ttft_ms + 1e-6);
        const most = Math.max(...points.map(({ tokens }) => tokens));
        const samples = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((i) => envelope((most * i) / 8));
        for (let i = 1; i < 9; i++)
          expect(samples[i]).toBeGreaterThanOrEqual((samples[i - 1] as number) - 1e-6);
        for (let i = 2; i < 9; i++)
          expect((samples[i] as number) + (samples[i - 2] as number)).toBeGreaterThanOrEqual(
            2 * (samples[i - 1] as number) - 1e-6,
          );
        // It touches: nothing lower is the greatest.
        const touched = points.some(({ tokens, ttft_ms }) => Math.abs(envelope(tokens) - ttft_ms) < 1e-6);
        expect(touched).toBe(true);
      }),
    );
  });

  it("prefers a calibration pass", async () => {
    async function* pass(): AsyncGenerator<RequestRecord[]> {
      yield [record({ request_id: "b", sent_ms: 5, first_token_ms: 15, end_ms: 25, prompt_tokens: 10 })];
    }
    const calibration = await readCalibration(pass());
    const rows = [turn("b", [0, 0, 40, 50, 50], { prompt_tokens: 10 })];
    const { summary } = await analyse(rows, [], {}, {}, calibration);
    expect(summary.jobs.breakdown_ms).toMatchObject({ prefill: 10, engine_queue: 30 });
    expect(summary.jobs.engine_split.estimated_from).toBe("calibration");
  });
});
