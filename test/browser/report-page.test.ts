/** The page in a real browser: its values, its calm (no error, no request), its manners. */
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { UserError } from "../../src/core/failure.ts";
import { analyzeFolder } from "../../src/run/analyze-run.ts";
import { reportPage } from "../../src/ui/report-page.ts";
import { runEnd } from "../support/run-samples.ts";
import { seriousFaults } from "./axe.ts";
import { useBrowser, WITHOUT_BROWSER } from "./chromium.ts";
import { record, threeJobs, timed, writeRun, type MadeRun } from "./made-run.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-page-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;
const run = (of: MadeRun): string => writeRun(join(folder, `run-${made++}`), of);

async function pageOf(folders: readonly string[], flags = {}): Promise<{ url: string; html: string }> {
  const path = join(folder, `page-${made++}.html`);
  const file = createWriteStream(path);
  for await (const part of reportPage({ folders, flags })) file.write(part);
  file.end();
  await once(file, "close");
  return { url: pathToFileURL(path).href, html: readFileSync(path, "utf8") };
}

describe.skipIf(WITHOUT_BROWSER !== null)("the page of one run", () => {
  const browser = useBrowser();

  it("shows the numbers of summary.json, without an error and without a request", async () => {
    const path = run({ records: threeJobs() });
    const { summary } = await analyzeFolder(path, { jobBudget: "2500ms" });
    const { url } = await pageOf([path], { jobBudget: "2500ms" });
    const { page, faults } = await browser.open(url);
    await page.waitForSelector("table.jobs");
    // By hand: jobs of 1, 2 and 3 s; p95 of three by the linear rule is 2.9 s. One of them is over 2.5 s.
    expect(summary.jobs.job_e2e["p95"]).toBeCloseTo(2900, 6);
    expect(await page.textContent("h1")).toContain(
      "95\u00a0% of jobs took at most 2.9\u00a0s, 33.3\u00a0% over the 2500ms budget",
    );
    const number = (key: string): Promise<string | null> =>
      page.textContent(`.numbers [data-path="${key}"] dd`);
    expect(await number("jobs.job_e2e.p95")).toBe("2.9 s");
    expect(await number("jobs.budget_miss_rate")).toBe("33.3 %");
    // ttft is a quarter of (2000 − 600) at the median: 350 ms.
    const ttft = await page.locator('tr[data-metric="ttft"] td').allTextContents();
    expect(ttft[0]).toBe("6");
    expect(Number(ttft[2])).toBeCloseTo(summary.requests.ttft["p50"] as number, 0);
    expect(summary.requests.ttft["p50"]).toBeCloseTo(350, 6);
    // Every row of causes is the mean over jobs: 600 ms of tools.
    expect(await page.textContent('tr[data-cause="tool"]')).toContain("600 ms");
    expect(faults).toEqual([]);
  });

  it("shows every distribution of the summary, rounded and nothing else", async () => {
    const path = run({ records: threeJobs() });
    const { summary } = await analyzeFolder(path, {});
    const { page, faults } = await browser.open((await pageOf([path])).url);
    for (const id of ["ttft", "tpot", "e2e", "response", "lateness"] as const) {
      const cells = await page.locator(`tr[data-metric="${id}"] > *`).allTextContents();
      const scale = (cells[0] ?? "").endsWith(", s") ? 1000 : 1;
      const shown = [cells[2], cells[3], cells[5], cells[7]].map(
        (text) => Number(text?.replace(/[,*]/g, "")) * scale,
      );
      const { mean, p50, p95, max } = summary.requests[id];
      for (const [i, value] of [mean, p50, p95, max].entries())
        expect(Math.abs((shown[i] as number) - (value as number))).toBeLessThanOrEqual(
          Math.abs((value as number) * 0.006) + 1e-9,
        );
    }
    expect(faults).toEqual([]);
  });

  it("opens a job to its turns and a turn to its record, by keyboard", async () => {
    const { page, faults } = await browser.open((await pageOf([run({ records: threeJobs() })])).url);
    await page.getByRole("button", { name: "job-2" }).focus();
    await page.keyboard.press("Enter");
    await page.waitForSelector("section.opened");
    expect(await page.locator("section.opened h3").textContent()).toBe("job-2");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("job-2");
    const turns = await page.locator("section.opened tbody tr").count();
    expect(turns).toBe(2);
    await page.locator("section.opened tbody tr").nth(1).getByRole("button").press("Enter");
    await page.waitForSelector(".record");
    const text = await page.textContent(".record");
    expect(text).toContain("Record of j2/1");
    expect(text).toContain("think_ms");
    expect(faults).toEqual([]);
  });

  it("sorts and filters the jobs", async () => {
    const { page } = await browser.open((await pageOf([run({ records: threeJobs() })])).url);
    await page.getByRole("button", { name: "time", exact: true }).click();
    expect(await page.locator("table.jobs tbody tr td:first-child").allTextContents()).toEqual([
      "job-2",
      "job-1",
      "job-0",
    ]);
    await page.locator('input[type="search"]').fill("job-1");
    expect(await page.locator("table.jobs tbody tr td:first-child").allTextContents()).toEqual(["job-1"]);
  });

  it.each([
    ["light", false, 1280],
    ["dark", true, 390],
  ] as const)("has no serious fault of accessibility (%s)", async (_name, dark, width) => {
    const path = run({
      records: [
        ...threeJobs(),
        record({
          request_id: "f",
          job_id: "f",
          status: "failed",
          failure: { code: "http_5xx", message: "no", http_status: 500 },
        }),
      ],
      engineRows: [0, 500, 1000].map((ms) => ({ ms, running: 1, waiting: 0, kv_usage: 0.5, hit_rate: 0.4 })),
    });
    const { page, faults } = await browser.open((await pageOf([path], { jobBudget: "2s" })).url, {
      dark,
      width,
    });
    await page.getByRole("button", { name: "job-2" }).click();
    await page.waitForSelector("section.opened table");
    await page.locator("section.opened tbody tr button").first().click();
    expect(await seriousFaults(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
    expect(faults).toEqual([]);
  });

  it("prints dark on white whatever the screen's scheme, within the paper's width", async () => {
    const { page } = await browser.open((await pageOf([run({ records: threeJobs() })])).url, {
      dark: true,
      width: 794,
    });
    await page.waitForSelector("table.jobs");
    const colour = 'getComputedStyle(document.querySelector("h1")).color';
    expect(await page.evaluate(colour)).toBe("rgb(232, 230, 225)");
    await page.emulateMedia({ media: "print" });
    expect(await page.evaluate(colour)).toBe("rgb(31, 35, 40)");
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(794);
  });

  const failure = { code: "http_5xx", message: "down", http_status: 503 } as const;
  const cases: readonly (readonly [string, MadeRun, string])[] = [
    ["empty", { records: [], jobs: [] }, "Nothing was planned"],
    [
      "all failed",
      {
        records: [0, 1, 2].map((i) =>
          record({
            request_id: `r${i}`,
            job_id: `j${i}`,
            status: "failed",
            failure,
            first_token_ms: null,
            last_token_ms: null,
            chunks: 0,
            chunk_ms: [],
            output_tokens: null,
          }),
        ),
      },
      "Every request failed (http_5xx 3)",
    ],
    [
      "one request",
      { records: [record(timed(0, 100, 400))] },
      "The one request that ended ok took 400\u00a0ms",
    ],
    [
      "interrupted",
      {
        records: threeJobs().slice(0, 4),
        plan: { requests: 6 },
        end: runEnd({ ended_ms: 5000, interrupted: true, not_sent: 2 }),
      },
      "Interrupted. ",
    ],
    ["without an end", { records: threeJobs().slice(0, 4), plan: { requests: 6 }, end: null }, "So far: "],
    [
      "sent nothing yet",
      { records: [], jobs: [{ job_id: "a" }], plan: { requests: 3, jobs: 1 }, end: null },
      "So far: No request has been sent.",
    ],
  ];
  it.each(cases)("shows a run that is %s", async (_name, of, text) => {
    const { page, faults } = await browser.open((await pageOf([run(of)])).url);
    expect(await page.textContent("h1")).toContain(text);
    await page.waitForTimeout(150);
    expect(await page.textContent("#app")).not.toMatch(/NaN|undefined|Infinity/);
    expect(faults).toEqual([]);
  });

  it("reads a log whose last line is half written", async () => {
    const path = run({ records: threeJobs(), end: null });
    const { appendFileSync } = await import("node:fs");
    appendFileSync(join(path, "records.jsonl"), '{"request_id":"half","job_');
    const { page, faults } = await browser.open((await pageOf([path])).url);
    expect(await page.textContent("h1")).toContain("So far: ");
    expect(faults).toEqual([]);
  });

  it("refuses a run of a newer version in one line", async () => {
    const path = run({ records: [], manifest: { reprise_run: 99 as 1 } });
    await expect(pageOf([path])).rejects.toThrow(UserError);
    await expect(pageOf([path])).rejects.toThrow(/newer version/);
  });
});

describe.skipIf(WITHOUT_BROWSER !== null)("hostile text", () => {
  const browser = useBrowser();
  const EVIL = '</SCRIPT><script>document.title="pwned"</script><img src=x onerror=alert(1)><!--';
  const BIDI = "safe\u202Egnp.exe\u2066";

  it("stays text everywhere: model text, ids, errors, labels, options, agents, model names", async () => {
    const path = run({
      manifest: {
        label: EVIL,
        options: { trace: EVIL, nested: { [EVIL]: EVIL } },
        metadata: { [EVIL]: BIDI },
        target: {
          url: `http://127.0.0.1:1/${EVIL}`,
          model: `${EVIL}${BIDI}`,
          backend: "openai",
          simulated: false,
          server: { version: EVIL },
        },
      },
      plan: { trace: EVIL, notes: [EVIL], provenance: { [EVIL]: EVIL } },
      records: [
        record({
          ...timed(0, 100, 400),
          request_id: EVIL,
          job_id: EVIL,
          text: `${EVIL}\n${BIDI}\u001b[2J`,
          agent: EVIL,
        }),
        record({
          ...timed(0, 100, 400),
          request_id: "b",
          job_id: EVIL,
          turn: 1,
          status: "failed",
          failure: { code: "server_error", message: `${EVIL}${BIDI}`, http_status: 200 },
        }),
        record({ ...timed(0, 100, 400), request_id: "c", job_id: `${BIDI}` }),
      ],
      engineRows: [{ ms: 1, [EVIL]: 3, error: EVIL }],
    });
    const { url, html } = await pageOf([path]);
    // Nothing but the page's own elements: no element ends early, however the text is written.
    expect(html.match(/<\/script/gi)?.length).toBe(html.match(/<script/gi)?.length);
    expect(html).not.toMatch(/<img|<!--/i);
    const { page, faults } = await browser.open(url);
    await page.waitForSelector("table.jobs");
    await page.locator("table.jobs button.link").first().click();
    await page.locator("section.opened tbody button").first().click();
    const text = (await page.textContent("#app")) ?? "";
    expect(text).toContain('document.title="pwned"');
    expect(text).toContain("\\u202egnp.exe");
    expect(text).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
    expect(text).not.toContain("\u001b");
    expect(await page.title()).not.toBe("pwned");
    expect(await page.locator("#app img, #app script").count()).toBe(0);
    expect(faults).toEqual([]);
  });

  it("could not run even if it were markup: the policy knows the page's own script only", async () => {
    const { page } = await browser.open((await pageOf([run({ records: threeJobs() })])).url);
    const blocked = await page.evaluate(`(async () => {
      const script = document.createElement("script");
      script.textContent = "window.ran = true";
      document.body.append(script);
      const reached = await fetch("http://127.0.0.1:9/").then(() => "reached", () => "refused");
      return [window.ran ?? false, reached];
    })()`);
    expect(blocked).toEqual([false, "refused"]);
  });
});

describe.skipIf(WITHOUT_BROWSER !== null)("the page of several runs", () => {
  const browser = useBrowser();

  it("names the better run, shows both, and lays the same job side by side", async () => {
    const closed = { plan: { pacing: "closed", max_concurrent_jobs: 3 } } as const;
    const a = run({ records: threeJobs(), manifest: { label: "slow" }, ...closed });
    const b = run({ records: threeJobs(0.5), manifest: { label: "quick" }, ...closed });
    const { page, faults } = await browser.open((await pageOf([a, b])).url);
    expect(await page.textContent("h1")).toBe("quick is the one to run.");
    // Jobs of 1, 2, 3 s against 0.8, 1.3, 1.8 s.
    const cells = await page.locator('table.runs td[data-path="jobs.job_e2e.p95"]').allTextContents();
    expect(cells).toEqual(["2.9 s", "1.75 s"]);
    const pair = await page.locator("#pairs tbody tr").first().textContent();
    expect(pair).toContain("mean(job_e2e)2 s1.3 s-35 %");
    await page.waitForSelector("#diff .lanes svg");
    const jobs = await page.locator("#diff select").nth(2).locator("option").allTextContents();
    expect(jobs[0]).toContain("job-2 (-1.2 s)");
    expect(await page.locator("#diff .lane").count()).toBe(4);
    await page.locator("#diff .lane").nth(1).click();
    await page.waitForSelector("#diff .record");
    expect(await page.textContent("#diff .record")).toContain("Record of j2/0");
    await page.getByRole("tab", { name: "quick" }).click();
    expect(await page.getByRole("tab", { name: "quick" }).getAttribute("aria-selected")).toBe("true");
    expect(await seriousFaults(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  it("recommends nothing among runs of different work", async () => {
    const a = run({ records: threeJobs(), plan: { trace_sha256: "aa", trace: "one" } });
    const b = run({ records: threeJobs(), plan: { trace_sha256: "bb", trace: "two" } });
    const { page, faults } = await browser.open((await pageOf([a, b])).url);
    expect(await page.textContent("h1")).toBe("No run is recommended.");
    expect(await page.textContent(".why")).toContain("different work");
    expect(await page.textContent("#pairs")).toContain("different traces");
    expect(faults).toEqual([]);
  });

  it("shows failed and empty runs beside a good one, and never calls them best", async () => {
    const good = run({ records: threeJobs(), manifest: { label: "good" } });
    const failure = { code: "connect", message: "refused", http_status: null } as const;
    const bad = run({
      records: threeJobs().map((one) => ({
        ...one,
        status: "failed" as const,
        failure,
        first_token_ms: null,
        last_token_ms: null,
      })),
      manifest: { label: "bad" },
    });
    const empty = run({ records: [], jobs: [], manifest: { label: "empty" } });
    const { page, faults } = await browser.open((await pageOf([bad, good, empty])).url);
    expect(await page.textContent("h1")).toBe("good is the one to run.");
    expect(await page.textContent("#app")).not.toMatch(/NaN|undefined|Infinity/);
    expect(faults).toEqual([]);
  });
});
