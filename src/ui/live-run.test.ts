import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { threeJobs, writeRun } from "../../test/browser/made-run.ts";
import { LiveRun } from "./live-run.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-live-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("a run under way", () => {
  it("is followed as its log grows, half lines and cut characters too", async () => {
    const records = threeJobs();
    const path = writeRun(join(folder, "run"), {
      records: [],
      jobs: ["job-0", "job-1", "job-2"].map((job_id) => ({ job_id, turns: 2, budget_ms: 2500 })),
      plan: { requests: 6 },
      end: null,
    });
    const live = new LiveRun(path, () => 1769860800000 + 1234);
    const first = await live.state();
    expect(first).toMatchObject({ planned_requests: 6, elapsed_ms: 1234, over: false });
    expect(first.numbers).toMatchObject({ ok: 0, ttft: null, job_e2e: null });
    const log = join(path, "records.jsonl");
    const bytes = Buffer.from(
      records.map((one) => `${JSON.stringify({ ...one, agent: "研究" })}\n`).join(""),
    );
    const cut = bytes.indexOf(Buffer.from("究")) + 1;
    appendFileSync(log, bytes.subarray(0, cut));
    expect((await live.state()).numbers.ok).toBe(0);
    const half = Math.floor(bytes.length * 0.6);
    appendFileSync(log, bytes.subarray(cut, half));
    const middle = await live.state();
    expect(middle.numbers.ok).toBe(3);
    expect(middle.jobs.map(({ job_id, ended, planned }) => [job_id, ended, planned])).toEqual([
      ["job-1", 1, 2],
    ]);
    appendFileSync(log, bytes.subarray(half));
    const [a, b] = await Promise.all([live.state(), live.state()]);
    expect(a.numbers.ok).toBe(6);
    expect(b.numbers).toEqual(a.numbers);
    // Jobs of 1, 2 and 3 s; one over 2.5 s.
    expect(a.numbers).toMatchObject({ jobs_ok: 3, jobs_failed: 0, jobs_over_budget: 1, jobs_under_way: 0 });
    expect(a.numbers.job_e2e?.p50).toBeCloseTo(2000, -1);
    expect(a.numbers.lateness?.p99).toBeLessThan(0.01);
    expect(a.series.requests_per_s.reduce((x, y) => x + y, 0)).toBe(6);
  });
});
