import { describe, expect, it } from "vitest";
import { VirtualClock } from "../core/virtual-clock.ts";
import type { EndedRequest } from "./ended-request.ts";
import { startProgress } from "./progress.ts";

const counts = {
  planned: 10,
  sent: 6,
  in_flight: 2,
  ok: 3,
  failed: 1,
  cancelled: 0,
  skipped: 0,
  jobs: 4,
  jobs_ended: 1,
};

function ended(over: Partial<EndedRequest>): EndedRequest {
  return {
    request_id: "r",
    job_id: "a",
    turn: 0,
    status: "ok",
    failure: null,
    intended_ms: 0,
    slot_ms: null,
    sent_ms: 0,
    connect_ms: 0,
    first_token_ms: 100,
    last_token_ms: 900,
    end_ms: 1000,
    chunks: 5,
    output_tokens: 5,
    ...over,
  };
}

function start(tty: boolean, columns = 100) {
  const clock = new VirtualClock();
  const written: string[] = [];
  const progress = startProgress({
    clock,
    counts,
    t0: 0,
    span_ms: null,
    tty,
    columns,
    planned: () => ({ turns: 2, budget_ms: 1500 }),
    write: (text) => written.push(text),
  });
  return { clock, written, progress };
}

describe("progress", () => {
  it("is one block that is rewritten in place on a terminal, and leaves nothing behind", async () => {
    const { clock, written, progress } = start(true);
    progress.onRecord(ended({}));
    progress.onRecord(
      ended({
        turn: 1,
        intended_ms: 1000,
        sent_ms: 1000,
        first_token_ms: 1400,
        end_ms: 2000,
        request_id: "s",
      }),
    );
    progress.onRecord(
      ended({
        status: "failed",
        failure: { code: "timeout", message: "\u001b[2J", http_status: null },
        job_id: "b",
      }),
    );
    await clock.run(600);
    const first = written[0] as string;
    // eslint-disable-next-line no-control-regex
    const plain = first.replace(/\u001b\[[0-9]*[A-Z]/g, "");
    expect(plain.split("\n")).toHaveLength(4);
    expect(plain).toContain("40 %");
    expect(plain).toContain("4/10 requests, 1/4 jobs; 2 in flight");
    expect(plain).toMatch(/first token p50 100 ms p95 400 ms; job p50 2 s p95 2 s/);
    expect(plain).toContain("1 failed (timeout 1); 1 jobs over budget");
    await clock.run(1100);
    // Three lines up to the first of four, every line cleared before it is written.
    expect(written[1]).toMatch(/^\r\u001b\[3A\u001b\[2K/);
    progress.stop();
    expect(written.at(-1)).toBe("\r\u001b[3A\u001b[J");
    progress.stop();
    expect(written).toHaveLength(3);
  });

  it("is a plain line every five seconds elsewhere, without a control character", async () => {
    const { clock, written, progress } = start(false);
    progress.onRecord(ended({ sent_ms: 50, first_token_ms: 150 }));
    await clock.run(11_000);
    expect(written).toHaveLength(2);
    progress.stop();
    expect(written).toHaveLength(3);
    // eslint-disable-next-line no-control-regex
    expect(written.join("")).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
    expect(written[0]).toMatch(/^5 s {2}4\/10 requests {2}1\/4 jobs/);
    expect(written[0]).toContain("our own sends are late: p99 50");
  });

  it("shows no rate of long ago, and a terminal that tells no width", async () => {
    const { clock, written, progress } = start(true, 0);
    for (let i = 0; i < 10; i++) progress.onRecord(ended({ end_ms: 1000 + i * 100 }));
    await clock.run(3000);
    expect(written.at(-1)).toMatch(/ 3\.3 requests\/s, 16\.7 tokens\/s/);
    await clock.run(13_000);
    expect(written.at(-1)).toMatch(/ 0\.0 requests\/s, 0\.0 tokens\/s/);
  });

  it("fits into a narrow terminal", async () => {
    const { clock, written } = start(true, 40);
    await clock.run(600);
    // eslint-disable-next-line no-control-regex
    for (const line of (written[0] as string).replace(/\u001b\[[0-9]*[A-Z]/g, "").split("\n"))
      expect(line.replace("\r", "").length).toBeLessThan(40);
  });
});
