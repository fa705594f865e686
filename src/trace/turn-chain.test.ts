import { expect, test } from "vitest";
import { TimedChain } from "./turn-chain.ts";

test("turns of a chain follow each other, and none arrives before the one it follows", () => {
  const chain = new TimedChain();
  expect(chain.end).toBe(null);
  expect(chain.next("a", null, 100)).toEqual({
    request_id: "a/0",
    job_id: "a",
    turn: 0,
    after: [],
    arrival_ms: 100,
    think_ms: null,
  });
  // Its input was logged before the answer that it follows: clocks of two writers.
  expect(chain.next("a", 90, 300)).toMatchObject({
    request_id: "a/1",
    after: ["a/0"],
    arrival_ms: 100,
    think_ms: 0,
  });
  expect(chain.end).toBe(300);
  expect(chain.next("a", 350, null)).toMatchObject({ arrival_ms: 350, think_ms: 50 });
  expect(chain.next("a", 500, 600)).toMatchObject({ arrival_ms: 500, think_ms: null });
  expect(chain.next("a", null, null)).toMatchObject({
    turn: 4,
    after: ["a/3"],
    arrival_ms: null,
    think_ms: null,
  });
});
