/** The local server's pages in a real browser. */
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeRunJson } from "../../src/record/run-folder.ts";
import { analyzeFolder } from "../../src/run/analyze-run.ts";
import { startUiServer, type UiServer } from "../../src/ui/server.ts";
import { seriousFaults } from "./axe.ts";
import { useBrowser, WITHOUT_BROWSER } from "./chromium.ts";
import { threeJobs, writeRun } from "./made-run.ts";

const EVIL = "<img src=x onerror=alert(1)>";

describe.skipIf(WITHOUT_BROWSER !== null)("the local pages", () => {
  const browser = useBrowser();
  const root = mkdtempSync(join(tmpdir(), "reprise-ui-pages-"));
  const closed = { pacing: "closed", max_concurrent_jobs: 3 } as const;
  let server: UiServer;

  beforeAll(async () => {
    for (const [name, scale] of [
      ["slow", 1],
      ["quick", 0.5],
    ] as const) {
      const folder = writeRun(join(root, name), {
        records: threeJobs(scale),
        manifest: { label: name },
        plan: closed,
      });
      writeRunJson(folder, "summary.json", (await analyzeFolder(folder, {})).summary);
    }
    const evil = writeRun(join(root, EVIL.replace("/", "")), {
      records: threeJobs(),
      manifest: { label: EVIL },
    });
    writeFileSync(join(evil, `${EVIL}.txt`), "text");
    writeFileSync(join(evil, "report.html"), "<script>alert(1)</script>");
    server = await startUiServer({ folder: root, port: 0, wall: () => Date.now() });
  });
  afterAll(async () => {
    await server.close();
    rmSync(root, { recursive: true, force: true });
  });

  it("list the runs; ticked ones are compared, the first as the base", async () => {
    const { page, faults } = await browser.open(server.url);
    await page.waitForSelector("table.runs-list");
    expect(await page.textContent("h1")).toBe("3 runs");
    expect(await page.textContent("#app")).toContain(EVIL);
    expect(await seriousFaults(page)).toEqual([]);
    await page.getByRole("checkbox", { name: "Compare slow" }).check();
    await page.getByRole("checkbox", { name: "Compare quick" }).check();
    await page.getByRole("link", { name: "Compare 2 runs" }).click();
    await page.waitForSelector("table.runs");
    expect(await page.textContent("h1")).toBe("quick is the one to run.");
    expect(await page.locator("table.runs tbody th").allTextContents()).toEqual(["slow", "quick"]);
    await page.getByRole("link", { name: "all runs" }).click();
    await page.waitForSelector("table.runs-list");
    expect(faults).toEqual([]);
  });

  it("link every file of a run, and show none with rights", async () => {
    const { page, faults } = await browser.open(server.url);
    await page.waitForSelector("table.runs-list");
    const row = page.locator("table.runs-list tbody tr", { hasText: EVIL });
    await row.locator("summary").click();
    const names = row.locator(".files a");
    await names.first().waitFor();
    expect(await names.allTextContents()).toEqual([
      `${EVIL}.txt`,
      "jobs.jsonl",
      "manifest.json",
      "records.jsonl",
      "report.html",
    ]);
    const href = await names.last().getAttribute("href");
    const opened = await browser.open(new URL(href as string, server.url).href);
    await opened.page.waitForTimeout(100);
    expect(opened.faults.filter((fault) => fault.startsWith("dialog"))).toEqual([]);
    expect(faults).toEqual([]);
  });

  it("follow a run under way to its end, and then show its report", async () => {
    const records = threeJobs();
    const end = JSON.stringify({ ...(await analyzeFolder(join(root, "slow"), {})).manifest, label: "going" });
    const folder = writeRun(join(root, "going"), {
      records: records.slice(0, 3),
      jobs: ["job-0", "job-1", "job-2"].map((job_id) => ({ job_id, turns: 2 })),
      manifest: { label: "going", t0_wall_ms: Date.now() - 5000 },
      plan: { requests: 6 },
      end: null,
    });
    const { page, faults } = await browser.open(server.liveUrl("going"));
    await page.waitForSelector(".progress");
    expect(await page.textContent("h1")).toContain("50\u00a0% done");
    expect(await page.locator("table.running tbody tr").allTextContents()).toHaveLength(1);
    expect(await seriousFaults(page)).toEqual([]);
    appendFileSync(
      join(folder, "records.jsonl"),
      records
        .slice(3)
        .map((one) => `${JSON.stringify(one)}\n`)
        .join(""),
    );
    writeFileSync(join(folder, "manifest.json"), end);
    await page.getByText("The run is over.").waitFor({ timeout: 10_000 });
    await page.getByRole("link", { name: "Open the report" }).click();
    await page.waitForSelector("table.jobs");
    expect(await page.textContent("h1")).toContain("95\u00a0% of jobs took at most 2.9\u00a0s");
    expect(faults).toEqual([]);
  });
});
