import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { reserveDescriptors } from "./descriptor-table.ts";

describe.skipIf(!existsSync("/proc/self/status"))("reserveDescriptors", () => {
  const size = (): number => Number(/FDSize:\s*(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]);
  const open = (): number => readdirSync("/proc/self/fd").length;

  it("makes the process's table large enough, and leaves nothing open", () => {
    const before = open();
    const room = size();
    reserveDescriptors(room + 10);
    expect(size()).toBeGreaterThanOrEqual(room + 10);
    expect(open()).toBe(before);
  });

  it("takes a wish beyond the limits as far as it goes", () => {
    const before = open();
    reserveDescriptors(Infinity);
    expect(open()).toBe(before);
  });
});
