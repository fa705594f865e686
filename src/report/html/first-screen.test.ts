/** What the first screen says of budgets: whose they were, and nothing where no job can be judged. */
import { describe, expect, it } from "vitest";
import { manifest, plannedJob, record, streamed } from "../../../test/support/run-samples.ts";
import { analyzeRun } from "../../metric/summarize.ts";
import { parseSummaryOptions } from "../../metric/summary-options.ts";
import type { Summary } from "../../metric/summary.ts";
import type { RequestRecord } from "../../record/request-record.ts";
import { answerLines } from "../answer.ts";
import { headline, keyNumbers } from "./first-screen.ts";

async function summaryOf(budgets: readonly (number | null)[], cut: boolean): Promise<Summary> {
  const turn = (job: string, at: number): RequestRecord => {
    const more = { request_id: `${job}${at}`, job_id: job, turn: at, after: at === 0 ? [] : [`${job}0`] };
    return cut && at === 1
      ? record({ ...more, status: "cancelled", sent_ms: 500, end_ms: 600 })
      : streamed(at * 500, [at * 500 + 100, at * 500 + 400], more);
  };
  const names = budgets.map((_budget, at) => `j${at}-`);
  const input = {
    manifest: manifest({
      plan: { requests: 2 * names.length, jobs: names.length },
      end: { ended_ms: cut ? 600 : 900 },
    }),
    jobs: names.map((name, at) => plannedJob(name, 2, { budget_ms: budgets[at] ?? null })),
    records: names.flatMap((name) => [turn(name, 0), turn(name, 1)]),
  };
  return (await analyzeRun(input, parseSummaryOptions({ jobBudget: "800ms" }))).summary;
}

describe("job times on the first screen", () => {
  it("are those of the jobs that ended ok, and the sentence says so", async () => {
    const summary = await summaryOf([null, null], false);
    const text = (more: Partial<Summary["jobs"]["counts"]>): string =>
      headline({ ...summary, jobs: { ...summary.jobs, counts: { ...summary.jobs.counts, ...more } } }).text;
    expect(text({})).toMatch(/^95 % of jobs took at most/);
    expect(text({ total: 3, failed: 1 })).toMatch(/^95 % of the 2 jobs that ended ok took at most/);
  });
});

describe("budgets on the first screen", () => {
  it("names the budget where it is that of all jobs", async () => {
    expect(headline(await summaryOf([null, null], false)).text).toContain("100 % over the 800ms budget");
    expect(headline(await summaryOf([1000, null], false)).text).toContain("50 % over their budget");
  });

  it("says so where no job can be judged, and finds nothing good in it", async () => {
    const summary = await summaryOf([null, null], true);
    expect(summary.jobs.counts).toMatchObject({ unfinished: 2, censored: 2, over_budget: 0 });
    expect(headline(summary).text).toBe("No job has ended ok.");
    expect(answerLines(summary).find(({ label }) => label === "Over budget")).toEqual({
      label: "Over budget",
      text: "n/a: no job came to its end or its budget",
      tone: "plain",
    });
    const [time, over] = keyNumbers(summary);
    expect(time).toMatchObject({ value: "n/a", detail: "none ended ok" });
    expect(over).toMatchObject({ value: "n/a", tone: "plain" });
  });
});
