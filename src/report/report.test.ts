/** Reports of one hand-made run against golden files (`UPDATE_GOLDEN=1` writes them; read the difference). */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { failed, manifest, plannedJob, skipped, streamed } from "../../test/support/run-samples.ts";
import type { RequestRecord } from "../record/request-record.ts";
import { type RunAnalysis, analyzeRun } from "../metric/summarize.ts";
import { parseSummaryOptions } from "../metric/summary-options.ts";
import type { Summary } from "../metric/summary.ts";
import { renderComparison, renderComparisonMarkdown } from "./comparison-table.ts";
import { csvLine } from "./csv.ts";
import { REPORT_FORMAT_NAMES, renderReport } from "./index.ts";
import { cell } from "./markdown.ts";
import { formatChange, formatDurationOf, formatNumber, formatShare } from "./quantity.ts";
import type { ReportOptions } from "./report-format.ts";
import { width } from "../core/text-table.ts";

const HOSTILE = '=cmd|"/c calc"!A1\u001b[31m|\u202e<script>';

const records: RequestRecord[] = [
  streamed(0, [200, 220, 240], {
    request_id: "a1",
    job_id: "a",
    turn: 1,
    end_ms: 245,
    prompt_tokens: 100,
    cached_tokens: 0,
    planned_prompt_tokens: 100,
    planned_output_tokens: 3,
  }),
  streamed(1250, [1350, 1450], {
    request_id: "a2",
    job_id: "a",
    turn: 2,
    intended_ms: 1245,
    slot_ms: 1249,
    after: ["a1"],
    think_ms: 1000,
    prompt_tokens: 200,
    cached_tokens: 100,
    planned_prompt_tokens: 190,
    planned_output_tokens: 3,
  }),
  { ...failed(10, 12, "http_5xx"), request_id: "b1", job_id: HOSTILE, turn: 1 },
  skipped({ request_id: "b2", job_id: HOSTILE, turn: 2, after: ["b1"] }),
];

async function analyse(more: { simulated?: boolean; slower?: number } = {}): Promise<RunAnalysis> {
  const base = manifest({
    plan: {
      requests: 5,
      jobs: 3,
      trace: HOSTILE,
      optimal_hit_rate: 0.5,
      provenance: { "arrival times": "recorded", "prompt text": "made up" },
      notes: ["pacing jobs: some job has more than one turn"],
    },
    end: {
      ended_ms: 2000,
      not_sent: 1,
      engine: {
        engine: "vllm",
        hit_rate: 0.25,
        queue_mean_ms: 12.5,
        kv_usage_max: 0.9,
        waiting_max: 3,
        requests: null,
      },
    },
  });
  const slower = more.slower ?? 0;
  return analyzeRun(
    {
      manifest: { ...base, target: { ...base.target, simulated: more.simulated ?? false } },
      jobs: [plannedJob("a", 2), plannedJob(HOSTILE, 2), plannedJob("c", 1, { start_ms: 9000 })],
      records: records.map((row) =>
        row.request_id === "a2" ? { ...row, end_ms: (row.end_ms as number) + slower } : row,
      ),
    },
    parseSummaryOptions({
      jobBudget: "1s",
      goodput: "ttft:150",
      slo: ["p99(ttft) <= 500ms", "budget_miss_rate <= 1%", "p50(slot_wait) < 1ms"],
    }),
  );
}

async function render(format: string, options: ReportOptions = {}, analysis?: RunAnalysis): Promise<string> {
  async function* log(): AsyncGenerator<RequestRecord[]> {
    yield records;
  }
  const out = renderReport(format, { analysis: analysis ?? (await analyse()), records: log, options });
  if (typeof out === "string") return out;
  let text = "";
  for await (const part of out) text += part;
  return text;
}

function expectGolden(name: string, text: string): void {
  const path = join(import.meta.dirname, "../../test/golden/report", name);
  if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(path, text);
  expect(text).toBe(readFileSync(path, "utf8"));
}

describe("golden reports", () => {
  it.each([
    ["terminal", {}, "terminal.txt"],
    ["md", {}, "report.md"],
    ["csv", {}, "jobs.csv"],
    ["csv", { table: "requests" }, "requests.csv"],
    ["csv", { table: "metrics" }, "metrics.csv"],
  ] as const)("%s %j", async (format, options, file) => {
    expectGolden(file, await render(format, options));
  });

  it("compares runs side by side", async () => {
    const runs = [
      { name: "baseline", summary: (await analyse({ simulated: true })).summary },
      { name: HOSTILE, summary: (await analyse({ slower: 1450 })).summary },
    ];
    expectGolden("comparison.txt", renderComparison(runs));
    expectGolden("comparison.md", renderComparisonMarkdown(runs));
  });

  it("gives the summary, and only it, as JSON", async () => {
    const analysis = await analyse();
    const text = await render("json", {}, analysis);
    expect(JSON.parse(text)).toEqual(analysis.summary);
  });
});

describe("terminal", () => {
  it("keeps to 100 columns and to plain characters", async () => {
    for (const line of (await render("terminal")).split("\n")) expect(width(line)).toBeLessThanOrEqual(100);
    // eslint-disable-next-line no-control-regex
    expect(await render("terminal")).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
  });

  it("colours only when told to, without another change", async () => {
    const colour = await render("terminal", { colour: true });
    expect(colour).toContain("\u001b[1m");
    // eslint-disable-next-line no-control-regex
    expect(colour.replace(/\u001b\[\d+m/g, "")).toBe(await render("terminal"));
  });

  it("tells an empty run and one where all failed without a number", async () => {
    for (const rows of [[], [failed(0, 1, "connect")]]) {
      const analysis = await analyzeRun({ manifest: manifest(), jobs: [], records: rows });
      const text = await render("terminal", {}, analysis);
      expect(text).toContain("n/a: no");
      expect(text).not.toMatch(/NaN|Infinity|undefined|null/);
    }
  });

  it("says that the engine is simulated", async () => {
    const text = await render("terminal", {}, await analyse({ simulated: true }));
    expect(text).toContain("SIMULATION");
  });
});

describe("cells", () => {
  it("guards CSV against formulas, quotes and line ends", () => {
    expect(csvLine(["=1+1", "+x", "-x", "@x", "a,b", 'a"b', "a\nb", "\t=1", "\u001b[2J", null, -1.5])).toBe(
      `'=1+1,'+x,'-x,'@x,"a,b","a""b",a\\nb,'\\t=1,\\x1b[2J,,-1.5\n`,
    );
  });

  it("keeps Markdown cells whole", () => {
    expect(cell("a|b `c` <img> *x* \n&")).toBe("a\\|b \\`c\\` &lt;img&gt; \\*x\\* \\\\n&amp;");
  });
});

describe("quantities", () => {
  it("are short, and never hide what is missing", () => {
    expect([0, 0.0421, 0.421, 4.216, 42.16, 421.6, 4216.4, 1234567].map(formatNumber)).toEqual([
      "0",
      "0.0421",
      "0.421",
      "4.22",
      "42.2",
      "422",
      "4,216",
      "1,234,567",
    ]);
    expect([null, 999, 1000, 61_500].map(formatDurationOf)).toEqual(["n/a", "999 ms", "1 s", "61.5 s"]);
    expect([null, 0, 0.0001, 0.032, 0.9999, 1].map(formatShare)).toEqual([
      "n/a",
      "0 %",
      "< 0.1 %",
      "3.2 %",
      "> 99.9 %",
      "100 %",
    ]);
    expect([null, 0, 0.027, -0.5].map(formatChange)).toEqual(["n/a", "±0 %", "+2.7 %", "-50 %"]);
  });
});

it("names the nearest format", () => {
  const input = { analysis: {} as RunAnalysis, records: () => (async function* () {})(), options: {} };
  expect(() => renderReport("jsn", input)).toThrow(/unknown report format "jsn"/);
  expect(() => renderReport("csv", { ...input, options: { table: "x" } })).toThrow(/no CSV table/);
  expect(REPORT_FORMAT_NAMES.slice(0, 4)).toEqual(["terminal", "json", "csv", "md"]);
});

/** The numbers behind the golden files, worked by hand. */
it("stands on the right numbers", async () => {
  const { summary }: { summary: Summary } = await analyse();
  // Job a: 0 → 1450. Path: a1 (0–245), think 1000, a2 (1245–1450).
  expect(summary.jobs.job_e2e).toMatchObject({ n: 1, mean: 1450 });
  expect(summary.jobs.breakdown_ms).toMatchObject({
    tool: 1000,
    slot: 4,
    client: 1,
    connect: 0,
    decode: 40 + 100,
    tail: 5,
    unsplit: 0,
  });
  // a1: 100 uncached tokens took 200, a2: 100 took 100. The envelope is 100 ms: 100 of queue in a1.
  expect(summary.jobs.breakdown_ms).toMatchObject({ prefill: 200, engine_queue: 100 });
  expect(summary.jobs.engine_split).toMatchObject({
    basis: "estimate",
    estimated: 2,
    estimated_from: "envelope",
  });
  expect(summary.jobs.dominated_by).toEqual({ tool: 1 });
  expect(summary.jobs.counts).toMatchObject({ total: 3, ok: 1, failed: 1, not_started: 1, over_budget: 2 });
  expect(summary.jobs.budget_miss_rate).toBe(1);
  expect(summary.goodput).toMatchObject({ good: 1, share: 1 / 3 });
  expect(summary.objectives.map(({ value, met }) => [value, met])).toEqual([
    [199, true],
    [1, false],
    [4, false],
  ]);
});
