// Runs the test suite once and ends on the line that a runner reads: `N passed, N failed, N skipped`.
// Arguments go to vitest: `npm test -- src/metric`.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const dir = mkdtempSync(join(tmpdir(), "reprise-test-"));
const file = join(dir, "result.json");
const args = [
  "node_modules/vitest/vitest.mjs",
  "run",
  "--reporter=default",
  "--reporter=json",
  `--outputFile.json=${file}`,
];
const done = spawnSync(process.execPath, [...args, ...process.argv.slice(2)], { stdio: "inherit" });
let failed = true;
try {
  const result = JSON.parse(readFileSync(file, "utf8"));
  for (const suite of result.testResults)
    for (const test of suite.assertionResults)
      if (test.status === "pending" || test.status === "skipped")
        process.stdout.write(`skipped: ${test.fullName}\n`);
  const brokenFiles = result.testResults.filter(
    (s) => s.status === "failed" && s.assertionResults.length === 0,
  ).length;
  const failures = result.numFailedTests + brokenFiles;
  failed = done.status !== 0 || failures > 0;
  process.stdout.write(
    `${result.numPassedTests} passed, ${failures} failed, ${result.numPendingTests} skipped\n`,
  );
} catch (error) {
  process.stderr.write(`test: vitest left no result (${error.message})\n0 passed, 1 failed\n`);
}
rmSync(dir, { recursive: true, force: true });
process.exit(failed ? 1 : 0);
