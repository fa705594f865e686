/** The launcher, readiness, cache reset and metrics on a real llama.cpp server; skipped, and said so, where it is not set up. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RealClock } from "../../src/core/real-clock.ts";
import { resetCache } from "../../src/server/cache-reset.ts";
import { intervalBetween, readEngineMetrics, type EngineReading } from "../../src/server/engine-metrics.ts";
import { createHttpCall } from "../../src/server/http-call.ts";
import { serverProcesses } from "../../src/server/process-group.ts";
import { parsePrometheusText } from "../../src/server/prometheus-text.ts";
import { llamaCppIsThere, startLlamaCpp, type RunningLlamaCpp } from "./llama-cpp-server.ts";

describe.skipIf(!llamaCppIsThere())("llama.cpp", () => {
  const clock = new RealClock();
  const call = createHttpCall(clock, 10_000);
  let server: RunningLlamaCpp;

  beforeAll(async () => {
    server = await startLlamaCpp(clock, call);
  }, 90_000);
  afterAll(() => server?.end());

  const reading = async (): Promise<EngineReading> => {
    const reply = await call("GET", server.command.metrics_url ?? "");
    return readEngineMetrics(parsePrometheusText(reply.body), "llama-cpp");
  };

  async function cachedTokens(prompt: string): Promise<{ cached: number; prompt: number }> {
    const reply = await call("POST", `${server.command.base_url}/v1/completions`, {
      model: "tiny.gguf",
      prompt,
      max_tokens: 4,
      temperature: 0,
    });
    expect(reply.status).toBe(200);
    const { usage } = JSON.parse(reply.body) as {
      usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } };
    };
    return { cached: usage.prompt_tokens_details.cached_tokens, prompt: usage.prompt_tokens };
  }

  it("is ready under the name it was given", () => {
    expect(server.ready.model).toBe("tiny.gguf");
  });

  it("a repeated prompt hits the cache; after a reset of the slots it does not; the scrape agrees", async () => {
    const prompt = "the quick brown fox and the lazy dog ".repeat(12);
    expect((await cachedTokens(prompt)).cached).toBeLessThanOrEqual(1);
    const before = await reading();
    const again = await cachedTokens(prompt);
    expect(again.cached).toBeGreaterThan(again.prompt / 2);
    const interval = intervalBetween(before, await reading());
    expect(interval.hit_rate).toBeCloseTo(again.cached / again.prompt, 9);
    const reset = await resetCache(call, server.command.base_url, server.command.cache_reset);
    expect(reset).toEqual({ done: true, how: "2 slots erased" });
    expect((await cachedTokens(prompt)).cached).toBe(0);
  });

  it("is gone after the stop", async () => {
    await server.process.stop();
    expect(serverProcesses(server.process.pid, server.process.mark)).toEqual([]);
  });
});
