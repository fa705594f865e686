/** Case 37: hostile text in a report is text. Through the command line; test/browser/ opens the same in a real browser. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { record, threeJobs, timed, writeRun } from "../browser/made-run.ts";
import { cli, scratch } from "../cli/run-cli.ts";

const EVIL = '</SCRIPT><script>document.title="pwned"</script><img src=x onerror=alert(1)>';

describe("case 37: a report of hostile text", () => {
  it("has no element but its own, and no address but none", async () => {
    const folder = writeRun(join(scratch(), "run"), {
      manifest: { label: EVIL },
      records: [
        record({ ...timed(0, 100, 200), request_id: EVIL, job_id: EVIL, text: EVIL }),
        record({
          ...timed(0, 100, 200),
          request_id: "b",
          job_id: "b",
          status: "failed",
          failure: { code: "server_error", message: EVIL, http_status: 200 },
        }),
      ],
    });
    const out = join(scratch(), "report.html");
    const result = await cli(["report", folder, "-o", out]);
    expect(result).toMatchObject({ code: 0, stdout: "", stderr: "" });
    const html = readFileSync(out, "utf8");
    expect(html).not.toMatch(/<img|<!--/i);
    expect(html.match(/<\/script/gi)).toHaveLength(html.match(/<script/gi)?.length ?? 0);
    expect(html).toContain("Content-Security-Policy");
    // Nothing to fetch: no src, no link but the empty icon, no url() in the style.
    expect(html.match(/<link[^>]*>/g)).toEqual(['<link rel="icon" href="data:,">']);
    expect(html).not.toMatch(/<(script|iframe|object|embed)[^>]*\ssrc=|@import|url\(/i);
  });
});

describe("reprise report as a page", () => {
  it("takes several runs, by the file's name or by --format", async () => {
    const folder = scratch();
    const a = writeRun(join(folder, "a"), { records: threeJobs() });
    const b = writeRun(join(folder, "b"), { records: threeJobs(0.5) });
    expect((await cli(["report", a, b, "-o", join(folder, "two.html")])).code).toBe(0);
    const data =
      /id="page-data">(.*?)<\/script>/s.exec(readFileSync(join(folder, "two.html"), "utf8"))?.[1] ?? "";
    const page = JSON.parse(data) as {
      runs: { name: string; summary: { jobs: object } }[];
      choice: { winner: string };
    };
    expect(page.runs.map(({ name }) => name)).toEqual(["a", "b"]);
    expect(page.choice.winner).toBe("b");
    const json = await cli(["report", a, "--json"]);
    // The page carries the summary itself, to the last digit.
    expect(page.runs[0]?.summary).toEqual(JSON.parse(json.stdout));
    const printed = await cli(["report", a, "--format", "html"]);
    expect(printed.code).toBe(0);
    expect(printed.stdout.startsWith("<!doctype html>")).toBe(true);
  });

  it("refuses several runs where the format shows one, and runs that are none", async () => {
    const folder = scratch();
    const a = writeRun(join(folder, "a"), { records: threeJobs() });
    const two = await cli(["report", a, a, "--format", "md"]);
    expect(two.code).toBe(2);
    expect(two.stderr).toMatch(/one RUN at a time/);
    const table = await cli(["report", a, "--table", "jobs", "-o", join(folder, "x.html")]);
    expect(table.code).toBe(2);
    expect(table.stderr).toMatch(/html has no tables/);
    const none = await cli(["report", join(folder, "nothing"), "-o", join(folder, "x.html")]);
    expect(none.code).toBe(2);
    expect(none.stderr.trim().split("\n")).toHaveLength(1);
  });
});
