import { describe, expect, it } from "vitest";
import { VirtualClock } from "../core/virtual-clock.ts";
import { joinPerfMetrics, PerfDrain, readPerfMetrics, type SentRecord } from "./perf-metrics.ts";

/** An entry as trtllm-serve writes it: instants in seconds. */
const entry = (
  request_id: unknown,
  [arrival, scheduled, first, last]: number[],
  reused?: number,
): object => ({
  request_id,
  perf_metrics: {
    first_iter: 1,
    last_iter: 9,
    timing_metrics: {
      arrival_time: arrival,
      first_scheduled_time: scheduled,
      first_token_time: first,
      last_token_time: last,
    },
    kv_cache_metrics: { num_total_allocated_blocks: 9, num_reused_blocks: reused ?? 0 },
  },
});

const sent = (
  request_id: string,
  sent_ms: number,
  last_token_ms: number | null,
  status: SentRecord["status"] = "ok",
): SentRecord => ({ request_id, status, sent_ms, last_token_ms });

describe("reading", () => {
  it("takes instants and reused blocks; leaves entries without times out", () => {
    expect(
      readPerfMetrics([
        entry(7, [100, 100.25, 100.5, 101.5], 12),
        { request_id: 8, perf_metrics: {} },
        null,
        3,
      ]),
    ).toEqual([
      {
        id: "7",
        arrival_s: 100,
        scheduled_s: 100.25,
        first_token_s: 100.5,
        last_token_s: 101.5,
        reused_blocks: 12,
      },
    ]);
    expect(readPerfMetrics({ error: "not enabled" })).toEqual([]);
  });
});

describe("joining", () => {
  const told = (...entries: object[]) => readPerfMetrics(entries);

  it("by order of arrival: queue, prefill, decode in ms", () => {
    const joined = joinPerfMetrics(
      [sent("b", 1000, 2900), sent("a", 10, 1600)],
      // The server's clock has an origin of its own; ids are its own, too.
      told(entry(1, [500, 500.125, 500.5, 501.5]), entry(2, [501, 501.5, 501.75, 502.75], 3)),
    );
    expect(joined.get("a")).toEqual({
      queue_ms: 125,
      prefill_ms: 375,
      decode_ms: 1000,
      cached_tokens: null,
      source: "trtllm perf_metrics, by arrival",
      reused_blocks: 0,
    });
    expect(joined.get("b")).toMatchObject({ queue_ms: 500, prefill_ms: 250, reused_blocks: 3 });
  });

  it("tells requests that arrived together apart by their last tokens", () => {
    const joined = joinPerfMetrics(
      [sent("long", 0, 900), sent("short", 1, 300), sent("later", 500, 700)],
      told(entry(1, [5, 5.1, 5.15, 5.3]), entry(2, [5.002, 5.01, 5.02, 5.9]), entry(3, [5.5, 5.5, 5.6, 5.7])),
    );
    expect(joined.get("short")?.queue_ms).toBeCloseTo(100, 6);
    expect(joined.get("long")?.queue_ms).toBeCloseTo(8, 6);
    expect(joined.get("later")?.prefill_ms).toBeCloseTo(100, 6);
  });

  it("by our own ids where the server tells them, whatever the order", () => {
    const joined = joinPerfMetrics(
      [sent("a", 0, 500), sent("b", 100, 600), sent("c", 200, 700)],
      told(entry("c", [9, 9, 9.1, 9.2]), entry("a", [1, 1.5, 1.6, 1.7])),
    );
    expect([...joined.keys()].sort()).toEqual(["a", "c"]);
    expect(joined.get("a")).toMatchObject({ queue_ms: 500, source: "trtllm perf_metrics, by request id" });
  });

  it("leaves failed ones out where the server tells of the others only, and joins nothing where counts differ", () => {
    const records = [sent("a", 0, 500), sent("bad", 100, null, "failed"), sent("c", 200, 700)];
    const two = told(entry(1, [1, 1, 1.1, 1.5]), entry(2, [1.2, 1.3, 1.4, 1.7]));
    expect([...joinPerfMetrics(records, two).keys()]).toEqual(["a", "c"]);
    expect(joinPerfMetrics(records, two.slice(1)).size).toBe(0);
  });
});

describe("draining", () => {
  it("drops what was there before the run, collects while it lasts, and once more at its end", async () => {
    const clock = new VirtualClock(0);
    let waiting = [entry(1, [1, 1, 2, 3])];
    const call = async () => {
      const body = JSON.stringify(waiting);
      waiting = [];
      return { status: 200, software: null, body };
    };
    const drain = new PerfDrain("http://h/perf_metrics", call, clock);
    const run = (async () => {
      await drain.start();
      waiting.push(entry(2, [4, 4, 5, 6]));
      await new Promise<void>((resolve) => clock.at(clock.now() + 1500, resolve));
      waiting.push(entry(3, [7, 7, 8, 9]));
      return drain.stop();
    })();
    const told = await clock.runUntil(run);
    expect(told.map(({ id }) => id)).toEqual(["2", "3"]);
  });

  it("asks a server without it once", async () => {
    const clock = new VirtualClock(0);
    let asked = 0;
    const drain = new PerfDrain(
      "http://h/perf_metrics",
      async () => {
        asked++;
        return { status: 404, software: null, body: "" };
      },
      clock,
    );
    await clock.runUntil(drain.start());
    expect(await clock.runUntil(drain.stop())).toEqual([]);
    expect(asked).toBe(1);
  });
});
