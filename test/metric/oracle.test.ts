/**
 * A made-up run (closed, warm-up and duration set, DAGs, failures, skipped and cancelled turns, replies without streaming,
 * several tokens a chunk) whose every number was computed by an independent program straight from the definitions:
 * brute force, no shared code. `test/golden/metric/expected.json` holds its values.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { analyzeFolder } from "../../src/run/analyze-run.ts";

const folder = join(import.meta.dirname, "../golden/metric");

it("agrees with an independent computation", async () => {
  const expected = JSON.parse(readFileSync(join(folder, "expected.json"), "utf8")) as unknown;
  const { summary } = await analyzeFolder(folder, { jobBudget: "6s", goodput: ["ttft:400", "itl:30"] });
  const wrong: string[] = [];
  let compared = 0;
  const compare = (want: unknown, got: unknown, path: string): void => {
    if (want !== null && typeof want === "object") {
      for (const [key, value] of Object.entries(want))
        compare(value, (got as Record<string, unknown> | null)?.[key], `${path}.${key}`);
      return;
    }
    compared++;
    const same =
      typeof want === "number" && typeof got === "number"
        ? Math.abs(want - got) <= 1e-9 * Math.max(1, Math.abs(want))
        : want === got;
    if (!same) wrong.push(`${path}: expected ${String(want)}, got ${String(got)}`);
  };
  compare(expected, summary, "summary");
  expect(wrong).toEqual([]);
  expect(compared).toBeGreaterThan(200);
});
