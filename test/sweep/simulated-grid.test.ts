/** The grid of COMPAT C on the simulator, with a fault in two of its eighteen cells. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { prepareSweep } from "../../src/sweep/prepare-sweep.ts";
import { rankCells, type SweepRanking } from "../../src/sweep/rank-cells.ts";
import { renderSweepCsv } from "../../src/sweep/render-sweep.ts";
import { replayCell } from "../../src/sweep/replay-cell.ts";
import { runSweep, type CellTask, type SweepOutcome } from "../../src/sweep/run-sweep.ts";
import { noHttp, quietEnvironment, writeAgentTrace } from "./simulated.ts";

describe("a 3 x 2 x 3 sweep on the simulator", () => {
  let folder: string;
  let outcome: SweepOutcome;
  let ranking: SweepRanking;
  const warnings: string[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "reprise-grid-"));
    writeAgentTrace(join(folder, "agents.jsonl"), 10, 3);
    writeFileSync(
      join(folder, "reprise.yaml"),
      `trace: agents.jsonl
target: {virtual_time: true}
workload: {pacing: closed, max_concurrency: 8, seed: 1}
engine: {type: sim}
grid:
  max_batch_size: [1, 4, 8]
  cuda_graphs: [true, false]
  kv_cache_fraction: [0.3, 0.6, 0.9]
`,
    );
    const { sections, cells, options } = await prepareSweep(join(folder, "reprise.yaml"), {}, {});
    const environment = quietEnvironment(warnings);
    const run = replayCell(environment);
    /** An engine that does not start, and one that refuses every prompt as too long. */
    const faulty = (task: CellTask): CellTask => {
      const faults = [
        { max_batch_size: 8, cuda_graphs: true, kv_cache_fraction: 0.3, fault: { gpu: "none-such" } },
        { max_batch_size: 8, cuda_graphs: true, kv_cache_fraction: 0.6, fault: { max_model_len: 64 } },
      ];
      const found = faults.find(({ fault: _fault, ...knobs }) =>
        Object.entries(knobs).every(([key, value]) => task.cell.knobs[key] === value),
      );
      return found === undefined ? task : { ...task, in_process: { ...task.in_process, ...found.fault } };
    };
    outcome = await runSweep(
      { sections, cells, options, out: join(folder, "sweep") },
      { ...environment, call: noHttp, runOnce: (task) => run(faulty(task)) },
    );
    ranking = rankCells(outcome.results, { rankBy: "auto", maxFailureRate: 0 });
  }, 120_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("runs all cells but the two faulty ones, and says what was wrong with those", () => {
    expect(outcome.results).toHaveLength(18);
    const wrong = ranking.cells.filter(({ barred }) => barred !== null);
    expect(wrong.map(({ result }) => result.cell.name)).toEqual([
      "max_batch_size=8 cuda_graphs=true kv_cache_fraction=0.3",
      "max_batch_size=8 cuda_graphs=true kv_cache_fraction=0.6",
    ]);
    expect(wrong[0]?.result.status).toBe("failed");
    expect(wrong[1]?.barred).toBe("no job succeeded");
    expect(
      warnings.some((text) => text.includes("max_batch_size=8 cuda_graphs=true kv_cache_fraction=0.3")),
    ).toBe(true);
    expect(outcome.results.filter(({ jobs }) => jobs.ok === 10)).toHaveLength(16);
  });

  it("the large batch with CUDA graphs wins by jobs, the small batch by tokens/s/user", () => {
    expect(ranking.rank_by).toBe("jobs_per_hour");
    expect(ranking.winner?.cell.name).toBe("max_batch_size=8 cuda_graphs=true kv_cache_fraction=0.9");
    const tokenWinner = ranking.cells.find(({ token_rank }) => token_rank === 1);
    expect(tokenWinner?.result.cell.knobs).toMatchObject({ max_batch_size: 1, cuda_graphs: true });
    expect(ranking.disagreement).toContain("Tokens/s/user would have picked max_batch_size=1");
    // More sequences together: less queueing, by the breakdown, and slower tokens for each.
    const of = (batch: number) =>
      ranking.cells.find(
        ({ result }) => result.cell.name === `max_batch_size=${batch} cuda_graphs=true kv_cache_fraction=0.9`,
      )?.result.metrics;
    const queue = [1, 4, 8].map((batch) => of(batch)?.engine_queue_mean_ms.mean ?? NaN);
    const tokens = [1, 4, 8].map((batch) => of(batch)?.output_tokens_per_s_per_user.mean ?? NaN);
    expect(queue).toEqual(queue.toSorted((a, b) => b - a));
    expect(tokens).toEqual(tokens.toSorted((a, b) => b - a));
  });

  it("every cell did the same work: equal tokens, and no prompt of one is a prompt of another", () => {
    const summaries = outcome.results.filter(({ jobs }) => jobs.ok > 0).flatMap(({ runs }) => runs);
    expect(new Set(summaries.map(({ summary }) => summary?.fidelity.prompt_tokens.achieved_mean)).size).toBe(
      1,
    );
    const csv = renderSweepCsv(ranking);
    expect(csv.trimEnd().split("\n")).toHaveLength(19);
    const manifests = summaries.map(({ folder: run }) =>
      JSON.parse(readFileSync(join(run ?? "", "manifest.json"), "utf8")),
    );
    expect(new Set(manifests.map(({ plan }) => plan.trace_sha256)).size).toBe(1);
    expect(manifests.every(({ seeds }) => seeds.prompt_seed === undefined)).toBe(true);
  });
});
