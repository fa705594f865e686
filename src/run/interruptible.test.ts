import { describe, expect, it } from "vitest";
import { interruptible } from "./interruptible.ts";

function environment(): {
  interrupt(): void;
  registered: number;
  onInterrupt: (handler: (count: number) => void) => () => void;
} {
  const handlers = new Set<(count: number) => void>();
  return {
    interrupt: () => handlers.forEach((handler) => handler(1)),
    get registered() {
      return handlers.size;
    },
    onInterrupt: (handler) => {
      handlers.add(handler);
      return () => handlers.delete(handler);
    },
  };
}

describe("what comes before a run", () => {
  it("ends at an interrupt with its exit code, and is told that nobody waits", async () => {
    const env = environment();
    let told: AbortSignal | null = null;
    const work = interruptible((signal) => {
      told = signal;
      return new Promise<never>(() => undefined);
    }, env);
    env.interrupt();
    await expect(work).rejects.toMatchObject({ exitCode: 130 });
    expect([(told as AbortSignal | null)?.aborted, env.registered]).toEqual([true, 0]);
  });

  it("gives back its result, or its error, and listens no more", async () => {
    const env = environment();
    expect(await interruptible(() => Promise.resolve(7), env)).toBe(7);
    await expect(interruptible(() => Promise.reject(new Error("no")), env)).rejects.toThrow("no");
    expect(env.registered).toBe(0);
  });
});
