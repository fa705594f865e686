/**
 * The estimate of engine waiting and prefill against the simulator, which knows both exactly: the same log is analysed with
 * what the server told, and with that taken out.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { replay } from "../../src/cli/commands/replay.ts";
import { type RunAnalysis, analyzeRun, readCalibration } from "../../src/metric/index.ts";
import { readRun, type Run } from "../../src/record/read-run.ts";
import { runCommand } from "../support/run-command.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "reprise-split-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** 40 jobs of 6 turns whose prompts grow: 500 to 6,500 tokens, a third of a second of thinking. */
function agents(): string {
  const rows: string[] = [];
  for (let job = 0; job < 40; job++) {
    for (let turn = 0; turn < 6; turn++) {
      const prompt_tokens = 500 + turn * 1000 + ((job * 37) % 500);
      rows.push(
        JSON.stringify({
          request_id: `j${job}t${turn}`,
          job_id: `j${job}`,
          turn,
          arrival_ms: job * 150,
          ...(turn === 0 ? {} : { think_ms: 300 }),
          prompt_tokens,
          max_tokens: 120,
          expected_output_tokens: 120,
        }),
      );
    }
  }
  return `${rows.join("\n")}\n`;
}

async function simulate(name: string, flags: readonly string[]): Promise<Run> {
  const trace = join(folder, "agents.jsonl");
  writeFileSync(trace, agents());
  const out = join(folder, name);
  const argv = [trace, "--backend", "sim", "--virtual-time", "--pacing", "jobs", "--out", out, "--json"];
  const { code } = await runCommand(replay, [...argv, ...flags]);
  expect(code).toBe(0);
  return readRun(out);
}

/** `counters`: whether the engine's own metrics over the run were scraped. */
async function analyse(run: Run, told: boolean, counters: boolean): Promise<RunAnalysis> {
  async function* records(): AsyncGenerator<never[]> {
    for await (const batch of run.records())
      yield batch.map((record) => (told ? record : { ...record, engine: null })) as never[];
  }
  const calibration = run.calibration();
  const { end } = run.manifest;
  return analyzeRun({
    manifest: counters || end === null ? run.manifest : { ...run.manifest, end: { ...end, engine: null } },
    jobs: run.jobs(),
    records: records(),
    calibration: calibration === null ? null : await readCalibration(calibration),
  });
}

interface Comparison {
  /** Estimated less exact waiting, as a share of ttft. */
  readonly error: number;
  readonly waiting: number;
  readonly from: string | null;
}

async function compare(run: Run, counters = false): Promise<Comparison> {
  const truth = (await analyse(run, true, counters)).summary.jobs;
  const guess = (await analyse(run, false, counters)).summary.jobs;
  expect(truth.engine_split.basis).toBe("server");
  expect(guess.engine_split.basis).toBe("estimate");
  const ttft = ({ breakdown_ms }: typeof truth): number =>
    (breakdown_ms.prefill as number) + (breakdown_ms.engine_queue as number);
  // However it is split, the whole is the same.
  expect(ttft(guess)).toBeCloseTo(ttft(truth), 6);
  const exact = truth.breakdown_ms.engine_queue as number;
  return {
    error: ((guess.breakdown_ms.engine_queue as number) - exact) / ttft(truth),
    waiting: exact / ttft(truth),
    from: guess.engine_split.estimated_from,
  };
}

describe("estimated engine waiting", () => {
  it("is exact to 1 % of ttft after a calibration pass, on an engine that is never idle", async () => {
    const { error, waiting, from } = await compare(
      await simulate("calibrated", ["--sim", "max_num_seqs=4", "--calibrate"]),
    );
    expect(from).toBe("calibration");
    expect(waiting).toBeGreaterThan(0.9);
    expect(Math.abs(error)).toBeLessThan(0.01);
  });

  it("is within a quarter of ttft without one, where some requests find the engine free", async () => {
    const { error, from } = await compare(await simulate("free", ["--sim", "max_num_seqs=64"]));
    expect(from).toBe("envelope");
    expect(Math.abs(error)).toBeLessThan(0.25);
  });

  it("is within a fifth of ttft where the engine's own counters were scraped, on an engine that is never idle", async () => {
    const { error, from } = await compare(await simulate("scraped", ["--sim", "max_num_seqs=4"]), true);
    expect(from).toBe("engine_counters");
    expect(Math.abs(error)).toBeLessThan(0.2);
  });

  it("takes waiting for prefill, never the reverse, where no long prompt ever found it free", async () => {
    const { error, waiting } = await compare(await simulate("busy", ["--sim", "max_num_seqs=4"]));
    expect(error).toBeLessThan(0.01);
    // Still most of the waiting is found.
    expect(waiting + error).toBeGreaterThan(0.5);
  });
});
