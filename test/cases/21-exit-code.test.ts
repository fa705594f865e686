import { expect, it } from "vitest";
import { replayStub, row, status, tokensAt } from "../support/replay-stub.ts";

it("case 21: 256 failures are not exit 0", async () => {
  const rows = [row("ok", 0), ...Array.from({ length: 256 }, (_, i) => row(`bad${i}`, 10 + i / 4))];
  const run = await replayStub(rows, (prompt) =>
    prompt === "ok" ? tokensAt([2]) : status("500 Internal Server Error", 0),
  );
  expect(run.summary.counts).toMatchObject({ ok: 1, failed: 256 });
  expect(run.code).toBe(1);
});
