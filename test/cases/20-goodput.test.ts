import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { replay } from "../../src/cli/commands/replay.ts";
import { DONE, FIN, U } from "../stub/events.ts";
import { response } from "../stub/wire.ts";
import { replayStub, row, status, tokensAt } from "../support/replay-stub.ts";
import { runCommand } from "../support/run-command.ts";

describe("case 20: goodput", () => {
  it("judges ok requests only, and a reply of one token meets any tpot", async () => {
    const answers: Record<string, ReturnType<typeof tokensAt>> = {
      R1: tokensAt([100, 120, 140, 160]),
      R2: tokensAt([100]),
      R3: tokensAt([1250, 1260, 1270]),
      R4: status("500 Internal Server Error"),
      R5: [{ at: 30, bytes: response([FIN("stop") + U(0) + DONE]) }],
    };
    // Bounds far from the values, for a busy machine: R3 alone misses ttft.
    const run = await replayStub(
      Object.keys(answers).map((id) => row(id, 0)),
      (prompt) => answers[prompt] ?? [],
      ["--goodput", "ttft:1200", "tpot:400", "--max-failure-rate", "1"],
    );
    expect([...run.records.values()].map((record) => `${record.request_id} ${record.status}`).sort()).toEqual(
      ["R1 ok", "R2 ok", "R3 ok", "R4 failed", "R5 ok"],
    );
    expect(run.summary.goodput).toMatchObject({ objectives: { ttft: 1200, tpot: 400 }, good: 2, share: 0.4 });
    expect(run.summary.goodput?.rate_per_s).toBeCloseTo(2000 / (run.summary.window_ms as number), 9);
    expect(run.code).toBe(0);
  });

  it("refuses an unknown name before anything is sent", async () => {
    const folder = mkdtempSync(join(tmpdir(), "reprise-case-"));
    try {
      const trace = join(folder, "t.jsonl");
      writeFileSync(trace, `${JSON.stringify(row("a", 0))}\n`);
      const argv = [trace, "--base-url", "http://127.0.0.1:9", "--model", "m", "--goodput", "ttfts:200"];
      const { code, err } = await runCommand(replay, argv);
      expect(code).toBe(2);
      expect(err).toContain('unknown metric "ttfts"');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
