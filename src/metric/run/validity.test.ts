/** Whether the server was measured, or the load generator. */
import { describe, expect, it } from "vitest";
import { summarize } from "../../../test/support/analyse-records.ts";
import { record, type ManifestParts } from "../../../test/support/run-samples.ts";
import type { RequestRecord } from "../../record/request-record.ts";
import { exitCodeOf } from "../exit-code.ts";

describe("validity", () => {
  const rows = (late: number): RequestRecord[] =>
    Array.from({ length: 100 }, (_, i) => record({ intended_ms: i, sent_ms: i + late, end_ms: i + 50 }));

  it("is client-limited when sends are late at p99", async () => {
    expect((await summarize(rows(5))).validity).toMatchObject({ verdict: "valid", reasons: [] });
    const late = await summarize(rows(6));
    expect(late.validity).toMatchObject({ verdict: "client-limited", client_limited: true });
    expect(late.validity.lateness).toMatchObject({ n: 100, p50: 6, p99: 6, max: 6, share_late: 1 });
    expect(exitCodeOf(late)).toBe(0);
    expect(exitCodeOf(late, { strictValidity: true })).toBe(4);
    expect((await summarize(rows(6), {}, { maxLateness: "10" })).validity.verdict).toBe("valid");
  });

  it("is client-limited when the loop stood still for a fifth of a second with streams open", async () => {
    const health = (stall: number): ManifestParts => ({
      end: {
        generator: {
          loop_stall_p99_ms: 1,
          loop_stall_max_ms: 900,
          loop_stall_streaming_max_ms: stall,
          cpu_share: 0.2,
          loop_utilisation: 0.2,
        },
      },
    });
    expect((await summarize(rows(0), health(199))).validity.verdict).toBe("valid");
    expect((await summarize(rows(0), health(200))).validity.verdict).toBe("client-limited");
  });

  it("says how long others held the core, where that explains what is wrong", async () => {
    const health = (core_wait_share: number): ManifestParts => ({
      end: {
        generator: {
          loop_stall_p99_ms: 1,
          loop_stall_max_ms: 2,
          loop_stall_streaming_max_ms: 2,
          cpu_share: 0.2,
          loop_utilisation: 0.2,
          core_wait_share,
        },
      },
    });
    expect((await summarize(rows(6), health(0.414))).validity.reasons[1]).toMatch(/held the core for 41 %/);
    expect((await summarize(rows(6), health(0.01))).validity.reasons).toHaveLength(1);
    expect((await summarize(rows(0), health(0.9))).validity).toMatchObject({ verdict: "valid", reasons: [] });
  });

  it("is client-limited when its own machine had nothing left for a request", async () => {
    const starved = record({
      status: "failed",
      failure: { code: "client_resource", message: "EMFILE", http_status: null },
      end_ms: 1,
    });
    const { validity } = await summarize([...rows(0), starved]);
    expect(validity.verdict).toBe("client-limited");
    expect(validity.reasons[0]).toMatch(/^1 request found no descriptors/);
  });

  it("is degraded when the run has no end, was interrupted or lost a part", async () => {
    const none = await summarize(rows(9), { end: null });
    expect(none.validity).toMatchObject({ verdict: "degraded", client_limited: true });
    expect(none.validity.reasons).toHaveLength(2);
    expect(none.run).toMatchObject({ partial: true, interrupted: false });
    expect(none.counts.overdue).toBeNull();
    // The run ended with 2 requests not sent; the log says 5: 3 records are not there.
    const gone = await summarize(rows(0), { plan: { requests: 105 }, end: { not_sent: 2 } });
    expect(gone.validity).toMatchObject({
      verdict: "degraded",
      reasons: ["3 records are missing from the log"],
    });
    expect(exitCodeOf(gone)).toBe(1);
    const lost = await summarize(rows(0), { end: { degraded: ["3 records could not be written"] } });
    expect(lost.validity).toMatchObject({
      verdict: "degraded",
      reasons: ["3 records could not be written"],
    });
  });
});
