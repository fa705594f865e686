/** Cases B9–B16 on the metric side: values worked by hand from the instants. */
import { describe, expect, it } from "vitest";
import { manifest, record, streamed } from "../../../test/support/run-samples.ts";
import { summarizeRun } from "../summarize.ts";
import { parseSummaryOptions } from "../summary-options.ts";
import { POOLED_METRICS, REQUEST_METRICS } from "./index.ts";

const { tpot, ttft, ttfo, lateness, slot_wait, output_tps, e2e, response, ttft_intended } = REQUEST_METRICS;

describe("request metrics", () => {
  it("measures from sent, and from intended", () => {
    const one = record({
      intended_ms: 100,
      slot_ms: 130,
      sent_ms: 137,
      connect_ms: 5,
      first_token_ms: 200,
      first_output_ms: 260,
      last_token_ms: 300,
      end_ms: 310,
      output_tokens: 11,
    });
    expect(ttft.value(one)).toBe(63);
    expect(ttfo.value(one)).toBe(123);
    expect(e2e.value(one)).toBe(173);
    expect(response.value(one)).toBe(210);
    expect(ttft_intended.value(one)).toBe(100);
    expect(slot_wait.value(one)).toBe(30);
    expect(lateness.value(one)).toBe(2);
    expect(tpot.value(one)).toBe(10);
    expect(output_tps.value(one)).toBe(100);
    // sent − intended = slot_wait + lateness + connect
    expect(137 - 100).toBe(30 + 2 + 5);
  });

  it("takes a slot granted before the intended time as no wait", () => {
    const one = record({ intended_ms: 100, slot_ms: 40, sent_ms: 101 });
    expect(slot_wait.value(one)).toBe(0);
    expect(lateness.value(one)).toBe(1);
    expect(slot_wait.value(record({ sent_ms: 1 }))).toBeNull();
  });

  it("B10: first output comes after reasoning; reasoning only has none", () => {
    const one = record({
      first_token_ms: 200,
      first_output_ms: 900,
      last_token_ms: 920,
      output_tokens: 5,
      chunks: 5,
    });
    expect([ttft.value(one), ttfo.value(one), tpot.value(one)]).toEqual([200, 900, 180]);
    expect(ttfo.value(record({ first_token_ms: 200 }))).toBeNull();
  });

  it("B15: several tokens a chunk are spread over the chunk", async () => {
    const one = streamed(0, [100, 140, 180], { chunk_tokens: [1, 4, 4], output_tokens: 9 });
    expect(tpot.value(one)).toBe(10);
    expect(POOLED_METRICS.itl.mean(one)).toBe(10);
    expect(POOLED_METRICS.chunk_gap.mean(one)).toBe(40);
    const { requests } = await summarizeRun({ manifest: manifest(), jobs: [], records: [one] });
    expect(requests.itl).toMatchObject({ n: 8, mean: 10, min: 10, max: 10, p99: 10, basis: "chunk_tokens" });
    expect(requests.chunk_gap).toMatchObject({ n: 2, mean: 40, p50: 40 });
  });

  it("counts the tokens of a first chunk that tells them", () => {
    // 4 tokens at 100, 4 at 140: the four later ones took 40 ms.
    expect(tpot.value(streamed(0, [100, 140], { chunk_tokens: [4, 4], output_tokens: 8 }))).toBe(10);
    // One chunk with everything has no rate, told or not.
    expect(tpot.value(streamed(0, [100], { output_tokens: 8 }))).toBeNull();
    expect(tpot.value(streamed(0, [100], { output_tokens: 8, chunk_tokens: [8] }))).toBeNull();
  });

  it("carries the gap before a chunk without tokens to the next", async () => {
    const one = streamed(0, [100, 110, 130, 145], { chunk_tokens: [1, 0, 2, 1], output_tokens: 4 });
    const { requests } = await summarizeRun({ manifest: manifest(), jobs: [], records: [one] });
    // Tokens at 130 (two, 30 ms after 100) and 145: 15, 15, 15.
    expect(requests.itl).toMatchObject({ n: 3, min: 15, max: 15 });
    expect(requests.chunk_gap).toMatchObject({ n: 3, min: 10, max: 20, mean: 15 });
  });

  it("without chunk times a request's mean itl is that of its span, so that objectives can be judged", async () => {
    const told = streamed(0, [100, 140, 180], { chunk_tokens: [1, 4, 4], output_tokens: 9 });
    const untold = streamed(0, [100, 120, 160]);
    for (const one of [told, untold]) {
      const { chunk_ms: _times, ...without } = one;
      expect(POOLED_METRICS.itl.mean(without)).toBe(POOLED_METRICS.itl.mean(one));
      expect(POOLED_METRICS.chunk_gap.mean(without)).toBe(POOLED_METRICS.chunk_gap.mean(one));
    }
    const { chunk_ms: _times, ...short } = streamed(0, [100]);
    expect(POOLED_METRICS.itl.mean(short)).toBeNull();
    const { requests, goodput } = await summarizeRun(
      { manifest: manifest(), jobs: [], records: [{ ...untold, chunk_ms: undefined } as never] },
      parseSummaryOptions({ goodput: ["itl:30"] }),
    );
    // The pooled distribution is not known.
    expect([requests.itl.n, goodput?.good]).toEqual([0, 1]);
  });

  it("B12: a reply without a token leaves the latency mean alone", async () => {
    const { requests } = await summarizeRun({
      manifest: manifest(),
      jobs: [],
      records: [
        streamed(0, [100, 120]),
        streamed(0, [300, 320]),
        record({ sent_ms: 0, end_ms: 50, output_tokens: 0 }),
      ],
    });
    expect(requests.ttft).toMatchObject({ n: 2, mean: 200 });
    expect(requests.e2e.n).toBe(3);
  });

  it("B12: a reply in one piece has a service time and a count, no token times", async () => {
    const { requests, throughput } = await summarizeRun({
      manifest: manifest(),
      jobs: [],
      records: [record({ sent_ms: 0, end_ms: 800, output_tokens: 5 })],
    });
    expect(requests.e2e.mean).toBe(800);
    expect(throughput.output_tokens_per_s).toBe(6.25);
    expect(requests.ttft).toEqual({
      n: 0,
      mean: null,
      std: null,
      min: null,
      max: null,
      p50: null,
      p90: null,
      p95: null,
      p99: null,
    });
    expect(requests.tpot.mean).toBeNull();
    expect(requests.itl.mean).toBeNull();
  });

  it("B16: a one-token reply has no tpot", async () => {
    const eleven = Array.from({ length: 11 }, (_, i) => 100 + 20 * i);
    const { requests } = await summarizeRun({
      manifest: manifest(),
      jobs: [],
      records: [streamed(0, [100]), streamed(0, eleven)],
    });
    expect(requests.tpot).toMatchObject({ n: 1, mean: 20 });
    expect(requests.itl).toMatchObject({ n: 10, mean: 20, basis: "chunk_gap" });
  });
});
