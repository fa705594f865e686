import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { cli, readJsonLines, scratch, traceFile } from "../cli/run-cli.ts";
import { startStub } from "../stub/stub-server.ts";

const rows = [0, 10, 3_600_000].map((arrival_ms, i) => ({
  request_id: `r${i}`,
  job_id: `j${i}`,
  arrival_ms,
  prompt: "hi",
  max_tokens: 4,
}));

/** Replays against a server that never answers; two SIGINTs follow once `mark` was told and requests hang. */
async function interruptTwice(mark: string, requests: number, flags: readonly string[]) {
  const out = join(scratch(), "run");
  const stub = await startStub(() => []);
  let armed = false;
  let second = 0;
  try {
    const words = ["--base-url", stub.url, "--model", "m", "--out", out, "--json", ...flags];
    const run = await cli(["replay", traceFile(rows), ...words], {
      onStderr: (text, kill) => {
        if (armed || !text.includes(mark)) return;
        armed = true;
        const poll = setInterval(() => {
          if (stub.requests.length < requests) return;
          clearInterval(poll);
          kill("SIGINT");
          setTimeout(() => {
            kill("SIGINT");
            second = performance.now();
          }, 200);
        }, 10);
      },
    });
    return { ...run, out, took: performance.now() - second };
  } finally {
    await stub.close();
  }
}

describe.skipIf(process.platform === "win32")("case 34: a second interrupt", () => {
  it("ends the run at once; what was in flight has its records", async () => {
    const { code, stdout, took, out } = await interruptTwice("run folder", 2, []);
    expect(code).toBe(130);
    // It ends within 1 s; the bound leaves room for a busy machine.
    expect(took).toBeLessThan(4000);
    expect(JSON.parse(stdout)).toMatchObject({
      run: { interrupted: true },
      counts: { planned: 3, sent: 2, ok: 0, failed: 0, cancelled: 2, skipped: 0, not_sent: 1 },
      requests: { e2e: { n: 0, mean: null } },
    });
    expect(readJsonLines(join(out, "records.jsonl")).map(({ status }) => status)).toEqual([
      "cancelled",
      "cancelled",
    ]);
  });

  it("during the calibration leaves no run to begin", async () => {
    const { code, stdout, stderr, out } = await interruptTwice("the calibration sends", 1, ["--calibrate"]);
    expect([code, stdout, existsSync(out)]).toEqual([130, "", false]);
    expect(stderr).toContain("reprise: interrupted during the calibration (nothing was measured)\n");
  });
});
