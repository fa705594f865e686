import { describe, expect, it } from "vitest";
import { replayStub, row, status, tokensAt } from "../support/replay-stub.ts";

describe("case 31: a failed turn", () => {
  it("skips what follows, fails the job and counts it as over budget", async () => {
    const rows = ["A", "B"].flatMap((job) =>
      [1, 2, 3].map((turn) => ({
        ...row(`${job}${turn}`, 0),
        job_id: job,
        turn,
        ...(turn === 1 ? {} : { think_ms: 0 }),
      })),
    );
    const run = await replayStub(
      rows,
      (prompt) => (prompt === "A2" ? status("500 Internal Server Error") : tokensAt([150, 200])),
      ["--pacing", "jobs", "--job-budget", "60s"],
    );
    expect(run.summary.counts).toMatchObject({
      planned: 6,
      sent: 5,
      ok: 4,
      failed: 1,
      skipped: 1,
      not_sent: 0,
    });
    expect(run.summary.jobs.counts).toMatchObject({ total: 2, ok: 1, failed: 1, over_budget: 1 });
    expect(run.summary.jobs.budget_miss_rate).toBe(0.5);
    expect(run.records.get("A3")?.status).toBe("skipped");
    expect(run.requests).toBe(5);
    // Job B alone: three turns of 200 ms.
    const b = [1, 2, 3].map((turn) => run.records.get(`B${turn}`));
    const took = (b[2]?.end_ms as number) - (b[0]?.intended_ms as number);
    expect(run.summary.jobs.job_e2e).toMatchObject({ n: 1, mean: took });
    expect(took).toBeGreaterThanOrEqual(595);
  });

  it("skips it with recorded pacing too, where the failure is known by its time; a turn that was sent already is let be", async () => {
    const rows = [
      { ...row("A1", 0), job_id: "A", turn: 1 },
      { ...row("A2", 50), job_id: "A", turn: 2 },
      { ...row("A3", 100), job_id: "A", turn: 3 },
      { ...row("A4", 900), job_id: "A", turn: 4 },
      { ...row("B1", 950), job_id: "B", turn: 1 },
    ];
    const run = await replayStub(
      rows,
      // A2 fails at about 450, when A3 has been under way since 100 and A4 is still to come.
      (prompt) => (prompt === "A2" ? status("500 Internal Server Error", 400) : tokensAt([20, 600])),
      ["--pacing", "recorded"],
    );
    expect(run.summary.counts).toMatchObject({ planned: 5, sent: 4, ok: 3, failed: 1, skipped: 1 });
    expect(run.records.get("A3")?.status).toBe("ok");
    expect(run.records.get("A4")).toMatchObject({ status: "skipped", intended_ms: 900, sent_ms: null });
    expect(run.records.get("B1")?.status).toBe("ok");
    expect(run.summary.jobs.counts).toMatchObject({ total: 2, ok: 1, failed: 1 });
  });
});
