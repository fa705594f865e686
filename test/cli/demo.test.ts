/** The demo tells its story: two runs, an answer, a page. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { cli, scratch } from "./run-cli.ts";

describe("reprise demo", () => {
  it("compares two configurations and writes the page that says which to run", async () => {
    const out = join(scratch(), "demo");
    const result = await cli(["demo", "--out", out]);
    expect(result.code, result.stderr).toBe(0);
    const page = join(out, "report.html");
    expect(result.stdout).toContain(page);
    const html = readFileSync(page, "utf8");
    const data = JSON.parse(/id="page-data">(.*?)<\/script>/s.exec(html)?.[1] ?? "{}") as {
      choice: { winner: string };
      runs: { name: string; summary: { throughput: { jobs_in_budget_per_hour: number } } }[];
    };
    expect(data.runs.map(({ name }) => name)).toEqual(["batch 2", "batch 8"]);
    const [small, large] = data.runs.map(({ summary }) => summary.throughput.jobs_in_budget_per_hour);
    expect(data.choice.winner).toBe((small as number) > (large as number) ? "batch 2" : "batch 8");
    // The words of the terminal name the same one.
    expect(result.stdout).toContain(`${data.choice.winner} is the one to run`);
  });
});
