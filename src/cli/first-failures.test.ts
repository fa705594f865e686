import { expect, it } from "vitest";
import type { EndedRequest } from "../run/ended-request.ts";
import { firstFailures } from "./first-failures.ts";

const record = (
  request_id: string,
  code: string | null,
  message = "",
  http_status: number | null = null,
  status = "failed",
): EndedRequest =>
  ({
    request_id,
    status,
    failure: code === null ? null : { code, message, http_status },
  }) as unknown as EndedRequest;

it("tells the first failure of each kind, on one line and without control characters", () => {
  const lines: string[] = [];
  const take = firstFailures((line) => lines.push(line));
  take(record("r0", null, "", null, "ok"));
  take(record("r1", "http_4xx", "the prompt is\u001b[2J too long\nby 7", 400));
  take(record("r2", "http_4xx", "another", 400));
  take(record("r3", "truncated", "the stream ended", 200));
  take(record("r4", "cancelled", "interrupted", null, "cancelled"));
  expect(lines).toHaveLength(2);
  expect(lines[0]).toMatch(/^failed: r1 \(http_4xx\): the prompt is.* too long.*by 7; more of this kind/);
  expect(lines[0]).not.toContain("\u001b");
  expect(lines[0]).not.toContain("\n");
  expect(lines[1]).toMatch(/^failed: r3 \(truncated\): the stream ended; /);
});

it("cuts a long message", () => {
  const lines: string[] = [];
  firstFailures((line) => lines.push(line))(record("r", "http_5xx", "x".repeat(5000), 500));
  expect(lines[0]?.length).toBeLessThan(420);
});
