import { describe, expect, it } from "vitest";
import { replayStub, row, status, tokensAt } from "../support/replay-stub.ts";

describe("case 19: fast failures", () => {
  it("are in no latency, and nothing is sent twice", async () => {
    const rows = Array.from({ length: 10 }, (_, i) => row(i < 4 ? `ok${i}` : `bad${i}`, i));
    const run = await replayStub(rows, (prompt) =>
      prompt.startsWith("ok") ? tokensAt([900, 1000]) : status("503 Service Unavailable"),
    );
    expect(run.summary.counts).toMatchObject({ sent: 10, ok: 4, failed: 6 });
    expect(run.summary.requests.e2e.n).toBe(4);
    // Never below what the server took; above by what the machine was busy.
    expect(run.summary.requests.e2e.mean).toBeGreaterThanOrEqual(995);
    expect(run.summary.requests.e2e.min).toBeGreaterThanOrEqual(995);
    expect(run.summary.failed_requests.e2e.n).toBe(6);
    expect(run.summary.failed_requests.e2e.mean).toBeLessThan(900);
    expect(run.code).toBe(1);
    expect(run.requests).toBe(10);
  });

  it("a 503 twice, then 200, without retries: one request, failed", async () => {
    let asked = 0;
    const run = await replayStub([row("a", 0)], () =>
      ++asked <= 2 ? status("503 Service Unavailable") : tokensAt([5]),
    );
    expect(run.requests).toBe(1);
    expect(run.summary.counts).toMatchObject({ sent: 1, ok: 0, failed: 1 });
    expect(run.records.get("a")?.attempts).toBe(1);
    expect(run.code).toBe(1);
  });
});
