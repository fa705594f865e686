/** A sweep whose workload is a dataset: sent as bench does, on the simulator. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sweepConfigFile, type FinishedSweep } from "../../src/sweep/sweep-config-file.ts";
import { noHttp, quietEnvironment } from "./simulated.ts";

describe("a sweep over a dataset", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "reprise-bench-sweep-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const sweep = (name: string, grid: string): Promise<FinishedSweep> => {
    const path = join(folder, `${name}.yaml`);
    writeFileSync(
      path,
      `target: {virtual_time: true}
workload: {dataset_name: random, num_prompts: 12, random_input_len: 64, random_output_len: 16}
engine: {type: sim}
grid: ${grid}
`,
    );
    return sweepConfigFile({ path, flags: {}, out: join(folder, name) }, quietEnvironment([]), noHttp);
  };

  it("gives every cell the same requests, and ranks by throughput where all are there at once", async () => {
    const { ranking, folder: out } = await sweep(
      "closed",
      "{max_batch_size: [1, 4], max_concurrency: [1, 4]}",
    );
    expect(ranking.rank_by).toBe("jobs_per_hour");
    expect(ranking.winner?.cell.name).toBe("max_batch_size=4 max_concurrency=4");
    const cells = ranking.cells.map(({ result }) => result);
    expect(cells.map(({ jobs, sent }) => [jobs.ok, sent])).toEqual([1, 2, 3, 4].map(() => [12, 12]));
    const tokens = cells.map(({ runs }) => {
      const summary = runs[0]?.summary;
      return (summary?.throughput.output_tokens_per_s ?? 0) * (summary?.window_ms ?? 0);
    });
    for (const each of tokens) expect(each / 1000).toBeCloseTo(12 * 16, 6);
    const manifest = JSON.parse(
      readFileSync(join(cells[0]?.runs[0]?.folder as string, "manifest.json"), "utf8"),
    );
    expect(manifest).toMatchObject({ command: "bench", options: { dataset_name: "random" } });
    expect(readFileSync(join(out, "comparison.csv"), "utf8").trimEnd().split("\n")).toHaveLength(5);
  });

  it("at a given rate the time of a job decides", async () => {
    const { ranking } = await sweep("rate", "{max_batch_size: [1, 4], request_rate: [5]}");
    expect(ranking.rank_by).toBe("job_e2e_mean_ms");
    expect(ranking.winner?.cell.knobs).toEqual({ max_batch_size: 4 });
  });
});
