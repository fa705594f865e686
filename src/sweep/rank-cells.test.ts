import { describe, expect, it } from "vitest";
import {
  CELL_METRIC_IDS,
  joinCell,
  type CellMetric,
  type CellResult,
  type CellRunResult,
} from "./cell-result.ts";
import { expandCells } from "./grid.ts";
import { rankCells } from "./rank-cells.ts";
import { renderSweepCsv, renderSweepMarkdown, renderSweepTerminal, sweepJson } from "./render-sweep.ts";
import { sweepSchema } from "./config-schema.ts";

const NONE = { n: 0, mean: null, min: null, max: null };

function cellResult(
  name: string,
  values: Partial<Record<CellMetric, number>>,
  more: Partial<CellResult> = {},
): CellResult {
  const [cell] = expandCells(sweepSchema.parse({ cells: { [name]: { a: name } } }), {
    loadOptions: [],
    hasEngine: true,
    where: () => "",
  });
  if (cell === undefined) throw new Error("no cell");
  const run = {
    slug: cell.slug,
    repeat: 1,
    status: "done",
    folder: `runs/${name}`,
    summary: { run: { pacing: "closed" }, validity: { verdict: "valid", reasons: [] } },
    error: null,
    gpus: null,
    notes: [],
  } as unknown as CellRunResult;
  return {
    cell,
    runs: [run],
    repeats_wanted: 1,
    metrics: Object.fromEntries(
      CELL_METRIC_IDS.map((id) => {
        const value = values[id];
        return [id, value === undefined ? NONE : { n: 1, mean: value, min: value, max: value }];
      }),
    ) as CellResult["metrics"],
    jobs: { ok: 10, failed: 0, unfinished: 0 },
    errors: 0,
    sent: 100,
    objectives_met: null,
    status: "done",
    reasons: [],
    ...more,
  };
}

const options = { rankBy: "auto", maxFailureRate: 0 } as const;

describe("ranking", () => {
  // Tokens/s/user falls with the batch, jobs/h peaks in the middle: the finding a sweep is for.
  const small = cellResult("B4", {
    jobs_per_hour: 100,
    jobs_per_hour_per_user: 10,
    output_tokens_per_s_per_user: 90,
  });
  const middle = cellResult("B16", {
    jobs_per_hour: 180,
    jobs_per_hour_per_user: 18,
    output_tokens_per_s_per_user: 60,
  });
  const large = cellResult("B64", {
    jobs_per_hour: 190,
    jobs_per_hour_per_user: 12,
    output_tokens_per_s_per_user: 30,
  });
  const broken = cellResult("B256", {}, { status: "failed", reasons: ["run 1: CUDA out of memory"] });

  it("names the winner by jobs, its reason, and what tokens/s/user would have picked", () => {
    const ranking = rankCells([small, middle, large, broken], options);
    expect(ranking.rank_by).toBe("jobs_per_hour");
    expect(ranking.winner).toBe(large);
    expect(ranking.reason).toBe(
      "highest jobs/hour (190) of the 3 configurations; next is B16, 5.3 % behind.",
    );
    expect(ranking.disagreement).toBe(
      "Tokens/s/user would have picked B4 (90.00 against 30.00), whose jobs/hour is 100 against 190.",
    );
    expect(ranking.cells.map(({ job_rank, token_rank }) => [job_rank, token_rank])).toEqual([
      [3, 1],
      [2, 2],
      [1, 3],
      [null, null],
    ]);
    // B4 is behind B16 in both; B16 and B64 trade one for the other.
    expect(ranking.pareto.front).toEqual(["B64", "B16"]);
  });

  it("a cell that failed, missed objectives, lost requests, or was not measured well never wins (case 17)", () => {
    const best = { jobs_per_hour: 1000 };
    const barred = [
      cellResult("nothing", {}, { jobs: { ok: 0, failed: 10, unfinished: 0 } }),
      cellResult("late", best, { objectives_met: false }),
      cellResult("lossy", best, { errors: 3 }),
      cellResult("half", best, { status: "incomplete" }),
      cellResult("cut", best, {
        runs: [
          {
            ...(small.runs[0] as CellRunResult),
            summary: { run: { pacing: "closed" }, validity: { verdict: "degraded" } } as never,
          },
        ],
      }),
    ];
    const ranking = rankCells([...barred, small], options);
    expect(ranking.winner).toBe(small);
    expect(ranking.reason).toContain("The other 5 cannot be recommended");
    const none = rankCells(barred, options);
    expect(none.winner).toBeNull();
    expect(none.reason).toContain("1 × 3 of 100 requests failed");
    expect(none.pareto.front).toEqual([]);
    expect(none.reason).not.toContain("--max-lateness");
    const limited = cellResult("limited", best, {
      runs: [
        {
          ...(small.runs[0] as CellRunResult),
          summary: { run: { pacing: "closed" }, validity: { verdict: "client-limited" } } as never,
        },
      ],
    });
    expect(rankCells([limited], options).reason).toMatch(
      /: 1 × the load generator was the limit\. .* a higher --max-lateness may help\.$/,
    );
  });

  it("says when it is close, and when the repeats overlap", () => {
    const twin = cellResult("twin", { jobs_per_hour: 189 });
    expect(rankCells([large, twin], options).reason).toContain("but not clearly: twin is 0.5 % behind");
    const spread = (mean: number, min: number, max: number): CellResult["metrics"] => ({
      ...large.metrics,
      jobs_per_hour: { n: 3, mean, min, max },
    });
    const a = { ...large, metrics: spread(190, 150, 230) };
    const b = { ...middle, metrics: spread(170, 140, 200) };
    expect(rankCells([a, b], options).reason).toContain("within the range of the repeats");
  });

  it("at recorded times the load is given, so job time decides", () => {
    const paced = (name: string, mean: number): CellResult => {
      const result = cellResult(name, { job_e2e_mean_ms: mean, jobs_per_hour: 100 });
      return {
        ...result,
        runs: result.runs.map((run) => ({
          ...run,
          summary: { run: { pacing: "jobs" }, validity: { verdict: "valid" } } as never,
        })),
      };
    };
    const ranking = rankCells([paced("slow", 2000), paced("fast", 1000)], options);
    expect(ranking.winner?.cell.name).toBe("fast");
    expect(ranking.reason).toContain("lowest job e2e mean (1 s)");
  });

  it("renders: one CSV line a cell, strict JSON, tables that hostile names do not break", () => {
    const hostile = cellResult('=cmd|"x",<b>', { jobs_per_hour: 1 });
    const ranking = rankCells([small, hostile, broken], options);
    const csv = renderSweepCsv(ranking).trimEnd().split("\n");
    expect(csv).toHaveLength(4);
    expect(csv[0]).toMatch(/^cell,a,status,runs,ttft_p50_ms,.*,winner,reason,folders$/);
    expect(csv[1]).toContain("B4,B4,done,1,");
    expect(csv[2]).toMatch(/^"'=cmd\|""x"",<b>"/);
    expect(csv[3]).toContain("CUDA out of memory");
    const json = JSON.parse(JSON.stringify(sweepJson(ranking)));
    expect(json.winner).toBe("B4");
    expect(json.cells[2]).toMatchObject({
      status: "failed",
      job_rank: null,
      metrics: { ttft_p50_ms: { n: 0, mean: null } },
    });
    const rows = renderSweepMarkdown(ranking)
      .split("\n")
      .filter((line) => line.startsWith("|"));
    const bars = new Set(rows.map((line) => line.match(/(?<!\\)\|/g)?.length));
    expect(bars.size).toBe(1);
    expect(renderSweepTerminal(ranking)).toContain("winner: B4");
    const steering = cellResult("\u001b[31m\u202eB", { jobs_per_hour: 1 });
    expect(renderSweepCsv(rankCells([steering], options))).toContain("\n\\x1b[31m\\u202eB,");
  });

  it("cells with names of their own keep them in the Markdown table", () => {
    const head = (results: readonly CellResult[]): string | undefined =>
      renderSweepMarkdown(rankCells(results, options))
        .split("\n")
        .find((line) => line.startsWith("|"));
    expect(head([small, large])).toMatch(/^\| cell \| a \|/);
    const plain = cellResult("1", { jobs_per_hour: 1 });
    expect(head([{ ...plain, cell: { ...plain.cell, name: "a=1" } }])).toMatch(/^\| a \|/);
  });
});

describe("joining repeats", () => {
  it("means over what was measured, with the range; a failed repeat fails the cell", () => {
    const [cell] = expandCells(sweepSchema.parse({ grid: { a: [1] } }), {
      loadOptions: [],
      hasEngine: true,
      where: () => "",
    });
    if (cell === undefined) throw new Error("no cell");
    const failed: CellRunResult = {
      slug: cell.slug,
      repeat: 2,
      status: "failed",
      folder: null,
      summary: null,
      error: "died",
      gpus: null,
      notes: [],
    };
    expect(joinCell(cell, [failed], 3)).toMatchObject({
      status: "failed",
      reasons: ["run 2: died"],
      errors: 0,
    });
    expect(joinCell(cell, [], 3)).toMatchObject({ status: "not run", objectives_met: null });
    expect(joinCell(cell, [], 3).metrics.ttft_p50_ms).toEqual(NONE);
  });
});
