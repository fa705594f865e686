/** Command lines as they stand in people's scripts: what must not surprise whoever pastes one. */
import { afterAll, describe, expect, it } from "vitest";
import { file, removeFolder, runCompat } from "../support/compat-stub.ts";
import { ADDRESS, custom, intended } from "./bench-row.ts";

afterAll(removeFolder);

const timed = file("timed.jsonl", [
  { timestamp: 0, input_length: 20, output_length: 3, hash_ids: [1] },
  { timestamp: 40, input_length: 24, output_length: 2, hash_ids: [2] },
  { timestamp: 80, input_length: 28, output_length: 4, hash_ids: [3] },
]);
const QUICK = ["--model", "m", "--ready-check-timeout-sec", "0", "--table", "none"];

describe("a timed trace", () => {
  const line = ["--backend", "openai", "--dataset-name", "timed_trace", "--dataset-path", timed];

  it("is sent once, row by row at its times, where no number of prompts is given", async () => {
    const run = await runCompat("bench", [...line, ...ADDRESS, ...QUICK]);
    expect(run.code, run.err).toBe(0);
    expect(run.bodies.map((body) => body["max_tokens"])).toEqual([3, 2, 4]);
    expect(intended(run)).toEqual([0, 40, 80]);
  });

  it("is filled up where one is, and says so", async () => {
    const run = await runCompat("bench", [...line, "--num-prompts", "4", ...ADDRESS, ...QUICK]);
    expect(run.measured).toHaveLength(4);
    expect(run.err).toContain("3 rows for 4 prompts; 1 of them are sent again");
  });
});

describe("a trace with a bad row", () => {
  const bad = file(
    "bad-rows.jsonl",
    '{"timestamp":0,"input_length":20,"output_length":3,"hash_ids":[1]}\n{"timestamp":5,\n{"timestamp":9,"input_length":20,"output_length":2,"hash_ids":[2]}\n',
  );
  const line = ["--backend", "openai", "--dataset-path", bad, ...ADDRESS, ...QUICK];

  it.each([[[]], [["--dataset-name", "timed_trace"]]])(
    "%j: refused, or left out by wish and counted",
    async (name) => {
      const refused = await runCompat("bench", [...line, ...name]);
      expect([refused.code, refused.measured.length]).toEqual([2, 0]);
      expect(refused.err).toMatch(/bad-rows.jsonl:2: not valid JSON/);
      const skipped = await runCompat("bench", [...line, ...name, "--skip-bad"]);
      expect(skipped.code, skipped.err).toBe(0);
      expect(skipped.bodies.map((body) => body["max_tokens"])).toEqual([3, 2]);
      expect(skipped.err).toContain("1 bad rows left out");
    },
  );

  it("is not for datasets that are no trace", async () => {
    const run = await runCompat("bench", ["--dataset-path", custom, "--skip-bad", ...ADDRESS, ...QUICK]);
    expect(run.code).toBe(2);
    expect(run.err).toContain("--skip-bad: rows of the dataset custom are never skipped");
  });
});

describe("flags that wait for another", () => {
  it.each(["--result-filename", "--result-dir"])("%s without --save-result is named", async (flag) => {
    const run = await runCompat("bench", [
      "--dataset-path",
      custom,
      "--num-prompts",
      "1",
      flag,
      "RESULTS",
      ...ADDRESS,
      ...QUICK,
    ]);
    expect(run.code, run.err).toBe(0);
    expect(run.err).toContain(`note: ${flag} has no effect without --save-result`);
    expect(run.results).toEqual({});
  });
});
