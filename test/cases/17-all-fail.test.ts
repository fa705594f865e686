import { describe, expect, it } from "vitest";
import { replayStub, row, status } from "../support/replay-stub.ts";

describe("case 17: all fail", () => {
  it.each([
    ["503", (): ReturnType<typeof status> => status("503 Service Unavailable"), "http_5xx"],
    ["the connection is cut", () => [{ at: 2, end: "rst" as const }], "reset"],
  ])("%s: strict JSON, nothing measured, exit not 0", async (_name, script, code) => {
    const run = await replayStub([row("a", 0), row("b", 20), row("c", 40)], script);
    expect(run.code).toBe(1);
    expect(run.text).not.toMatch(/NaN|Infinity/);
    expect(run.summary.counts).toMatchObject({ planned: 3, sent: 3, ok: 0, failed: 3 });
    expect(run.summary.failures).toEqual({ [code]: 3 });
    for (const metric of Object.values(run.summary.requests)) {
      expect(metric.n).toBe(0);
      expect([metric.mean, metric.min, metric.max, metric["p50"], metric["p99"]]).toEqual(
        Array(5).fill(null),
      );
    }
    expect(run.summary.jobs.job_e2e).toMatchObject({ n: 0, mean: null });
    expect(run.summary.failed_requests.e2e.n).toBe(3);
    expect(run.summary.throughput.requests_per_s).toBe(0);
  });
});
