/**
 * Does the gate catch a true regression on the simulator, and leave noise alone? Each trial is two whole runs on virtual time. `REPRISE_TRIALS`
 * sets how many; the rates of 200 are in docs/sweeps.md.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compareRuns } from "../../src/compare/compare-runs.ts";
import { judgeGates, parseGate } from "../../src/compare/gate.ts";
import type { RunSamples } from "../../src/compare/run-samples.ts";
import { samplesOf } from "../../src/compare/samples-of.ts";
import { createRng, type Rng } from "../../src/core/random.ts";
import { analyzeFolder } from "../../src/run/analyze-run.ts";
import { runReplay } from "../../src/run/replay.ts";
import { quietEnvironment, writeAgentTrace } from "./simulated.ts";

const trials = Number(process.env["REPRISE_TRIALS"] ?? "5");
let folder: string;
let runs = 0;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "reprise-trials-"));
  writeAgentTrace(join(folder, "agents.jsonl"), 24, 2);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** One run; the machine differs from run to run by about 0.5 % in each of its speeds. `slower` is the true regression. */
async function once(rng: Rng, slower: number): Promise<RunSamples> {
  const out = join(folder, `run-${++runs}`);
  const jitter = (): number => rng.logNormal(0, 0.005);
  const sim = {
    max_num_seqs: "8",
    speed: String(jitter() / slower),
    mfu: String(0.55 * jitter()),
    mbu: String(0.75 * jitter()),
    step_overhead_ms: String(0.8 * jitter()),
  };
  const given = {
    backend: "sim",
    sim,
    virtual_time: true,
    pacing: "jobs",
    seed: 1,
    out,
    think_scale: 0,
  } as const;
  await runReplay({ given, tracePath: join(folder, "agents.jsonl"), command: "replay" }, quietEnvironment());
  const samples = samplesOf(await analyzeFolder(out, {}), out);
  rmSync(out, { recursive: true });
  return samples;
}

describe("gate on the simulator", () => {
  it(`catches a true 10 % regression and not noise (${trials} trials)`, async () => {
    const gate = parseGate("mean(job_e2e) <= +4%", ["job_e2e"]);
    let caught = 0;
    let alarms = 0;
    for (let i = 0; i < trials; i++) {
      const rng = createRng(`gate-trial-${i}`);
      const before = await once(rng.fork("before"), 1);
      const worse = compareRuns(before, await once(rng.fork("worse"), 1.1), { statistics: [] });
      const same = compareRuns(before, await once(rng.fork("same"), 1), { statistics: [] });
      expect(worse.paired_jobs).toBe(24);
      if (!judgeGates(worse, [gate]).passed) caught++;
      if (!judgeGates(same, [gate]).passed) alarms++;
    }
    console.log(
      `simulator, gate mean(job_e2e) <= +4 %: caught ${caught} of ${trials} true regressions of 10 %, ${alarms} false alarms in ${trials}`,
    );
    expect(caught).toBeGreaterThanOrEqual(Math.floor(0.95 * trials));
    expect(alarms).toBeLessThanOrEqual(Math.ceil(0.03 * trials));
  }, 1_200_000);
});
