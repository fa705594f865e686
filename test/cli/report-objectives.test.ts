/** What `report` and a run's end say of objectives and of an empty window. In the process, on virtual time. */
import { join } from "node:path";
import { expect, it } from "vitest";
import { replay } from "../../src/cli/commands/replay.ts";
import { report } from "../../src/cli/commands/report.ts";
import { runCommand, summaryOf } from "../support/run-command.ts";
import { cli, scratch, traceFile } from "./run-cli.ts";

const rows = [0, 100, 200].map((arrival_ms) => ({
  request_id: `r${arrival_ms}`,
  job_id: `j${arrival_ms}`,
  arrival_ms,
  prompt: "hi",
  expected_output_tokens: 5,
  max_tokens: 5,
}));

function run(out: string, ...more: string[]): ReturnType<typeof runCommand> {
  const words = [traceFile(rows), "--backend", "sim", "--virtual-time", "--out", out, "--json", ...more];
  return runCommand(replay, words);
}

it("an objective given to report decides its exit code; one of the run does so at the run's end only", async () => {
  const out = join(scratch(), "run");
  expect((await run(out, "--slo", "max(e2e) <= 0.001ms")).code).toBe(1);
  const again = await runCommand(report, [out, "--format", "json"]);
  expect([again.code, summaryOf(again.out).objectives[0]?.met]).toEqual([0, false]);
  expect((await runCommand(report, [out, "--slo", "max(e2e) <= 1h"])).code).toBe(0);
  expect((await runCommand(report, [out, "--slo", "max(e2e) <= 0.001ms"])).code).toBe(1);
});

it("a warm-up longer than the run: nothing was measured, and that is said", async () => {
  const { err, out } = await run(join(scratch(), "run"), "--warmup", "1h");
  expect(err).toMatch(/warning: nothing was measured/);
  expect(summaryOf(out).requests["e2e"]).toMatchObject({ n: 0, mean: null });
});

it("a relative budget without calibration or recorded ends is no budget, and that is said", async () => {
  const { err, out } = await run(join(scratch(), "run"), "--job-budget", "2x");
  expect(err).toMatch(/warning: --job-budget 2x: no job's unloaded time is known/);
  expect(summaryOf(out).jobs).toMatchObject({ budget_miss_rate: null, counts: { over_budget: null } });
});

it("a file name in a message cannot steer the terminal", async () => {
  const { code, stderr } = await cli(["replay", "no\u001b[31mwhere.jsonl"]);
  expect([code, stderr]).toEqual([2, "reprise: no\\x1b[31mwhere.jsonl: no such file\n"]);
});
