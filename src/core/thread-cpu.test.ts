import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { monotonicOffset } from "./clock-anchor.ts";
import { parseSchedstat } from "./thread-cpu.ts";

describe("parseSchedstat", () => {
  it("reads time on a core and time waiting for one, in ns", () => {
    expect(parseSchedstat("1500000 250000 42\n")).toEqual({ used_ms: 1.5, waited_ms: 0.25 });
  });

  it("takes anything else as not told", () => {
    expect(parseSchedstat("0\n")).toBe(null);
    expect(parseSchedstat("")).toBe(null);
  });
});

describe("monotonicOffset", () => {
  it("puts the clocks of two threads on one line: a reply comes between the question and its arrival", async () => {
    const code = `import { parentPort } from "node:worker_threads";
      const pairs = Array.from({ length: 500 }, () => {
        const a = performance.now(), m = Number(process.hrtime.bigint()) / 1e6, b = performance.now();
        return [b - a, m - (a + b) / 2];
      }).sort((x, y) => x[0] - y[0]);
      parentPort.on("message", () => parentPort.postMessage(performance.now() + pairs[0][1]));`;
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`));
    const offset = monotonicOffset();
    const ask = (): Promise<number> =>
      new Promise((resolve) => {
        worker.once("message", resolve);
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
        worker.postMessage(0);
      });
    for (let i = 0; i < 20; i++) {
      const asked = performance.now() + offset;
      const at = await ask();
      expect(at).toBeGreaterThan(asked - 0.05);
      expect(at).toBeLessThan(performance.now() + offset + 0.05);
    }
    await worker.terminate();
  });
});
