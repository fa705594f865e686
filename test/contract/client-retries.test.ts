/** When a failed attempt is repeated, on virtual time: the server answers `first`, then a whole stream after 100 ms. */
import { describe, expect, it } from "vitest";
import type { Observation } from "../../src/record/observation.ts";
import { DONE, FIN, R } from "../stub/events.ts";
import { observeSteps } from "../stub/observe.ts";
import type { Step } from "../stub/scripted-transport.ts";
import { chunk, head, response } from "../stub/wire.ts";

const ANSWER: readonly Step[] = [{ at: 100, bytes: response([R("A") + FIN("stop") + DONE]) }];
const busy = (...headers: string[]): Step[] => [
  { at: 10, bytes: response(["busy"], "length", { status: "503 Busy", headers }) },
];

function retried(first: readonly Step[], timeoutMs: number, retries = 2): Promise<Observation> {
  return observeSteps((index) => (index === 0 ? first : ANSWER), { client: { retries, timeoutMs } });
}

describe("the wait before a repeated attempt", () => {
  it.each([
    ["nothing said", [], 500],
    ["seconds", ["Retry-After: 2"], 2000],
    ["longer than our own longest wait", ["Retry-After: 40"], 40_000],
    ["a part of a second", ["Retry-After: 0.25"], 250],
    ["milliseconds", ["Retry-After: 1", "retry-after-ms: 120"], 120],
    [
      "a date, by the server's clock",
      ["Date: Wed, 21 Oct 2015 07:28:00 GMT", "Retry-After: Wed, 21 Oct 2015 07:28:03 GMT"],
      3000,
    ],
    [
      "a date that is over",
      ["Date: Wed, 21 Oct 2015 07:28:00 GMT", "Retry-After: Wed, 21 Oct 2015 07:27:00 GMT"],
      0,
    ],
    ["a date without the server's own", ["Retry-After: Wed, 21 Oct 2015 07:28:00 GMT"], 500],
    ["nonsense", ["Retry-After: soon"], 500],
  ])("%s", async (_name, headers, wait) => {
    const seen = await retried(busy(...headers), 60_000);
    expect([seen.failure, seen.attempts, seen.sent_ms, seen.end_ms]).toEqual([null, 2, 0, 110 + wait]);
  });

  it("is not begun where it would outlast the time limit: the failure is what the server said", async () => {
    const seen = await retried(busy("Retry-After: 100"), 2000);
    expect([seen.failure?.code, seen.failure?.message, seen.attempts, seen.end_ms]).toEqual([
      "http_5xx",
      "HTTP 503: busy",
      1,
      10,
    ]);
  });
});

it("an error answer whose body never ends is told by its status", async () => {
  const bytes = Buffer.concat([
    Buffer.from(head("chunked", 0, { status: "500 Error" })),
    chunk('{"error":{"message":"out of memory"}}'),
  ]);
  const seen = await observeSteps([{ at: 5, bytes }], { client: { timeoutMs: 2000 } });
  expect(seen.failure).toEqual({ code: "http_5xx", message: "HTTP 500: out of memory", http_status: 500 });
  expect(seen.end_ms).toBe(2000);
});
