import { describe, expect, it } from "vitest";
import { VirtualClock } from "../core/virtual-clock.ts";
import type { HttpCall } from "../server/http-call.ts";
import { createServerWatch, type ServerWatchOptions } from "./engine-watch.ts";

const VLLM = 'vllm:num_requests_running{engine="0"} 2\nvllm:kv_cache_usage_perc{engine="0"} 0.5\n';

/** A server that answers these paths, and what it was asked for. */
function server(pages: Readonly<Record<string, string>>): { call: HttpCall; asked: string[] } {
  const asked: string[] = [];
  const call: HttpCall = (method, url) => {
    asked.push(`${method} ${url}`);
    const body = pages[new URL(url).pathname];
    return Promise.resolve({
      status: body === undefined ? 404 : 200,
      software: "uvicorn",
      body: body ?? "no such page",
    });
  };
  return { call, asked };
}

const models = (...ids: string[]): string =>
  JSON.stringify({ object: "list", data: ids.map((id) => ({ id, max_model_len: 4096, permission: [] })) });

function watchOf(call: HttpCall, more: Partial<ServerWatchOptions>) {
  return createServerWatch({
    wanted: undefined,
    known: null,
    model: "m",
    url: (path) => `http://server:8000${path}`,
    clock: new VirtualClock(),
    call,
    ...more,
  });
}

describe("the watch on a server", () => {
  it("auto: tells the engine by the names of its metrics, wherever it shows them", async () => {
    const usual = server({ "/metrics": VLLM, "/v1/models": models("m"), "/version": '{"version":"0.9.1"}' });
    expect(await watchOf(usual.call, { wanted: "auto" }).open(null, () => undefined)).toEqual({
      engine: "vllm",
      software: "uvicorn",
      version: "0.9.1",
      model_entry: { id: "m", max_model_len: 4096 },
    });
    const simulated = server({ "/metrics": `${VLLM}reprise_sim_info{gpu="h100"} 1\n` });
    expect(await watchOf(simulated.call, { wanted: "auto" }).open(null, () => undefined)).toEqual({
      engine: "sim",
    });
    const trtllm = server({ "/metrics": "[]", "/prometheus/metrics": "trtllm_num_requests_running 1\n" });
    expect(await watchOf(trtllm.call, { wanted: "auto" }).open(null, () => undefined)).toEqual({
      engine: "trtllm",
    });
  });

  it("auto: a server without metrics is a warning; an address without them is a mistake", async () => {
    const none = server({ "/health": "ok" });
    const warnings: string[] = [];
    expect(await watchOf(none.call, { wanted: "auto" }).open(null, (text) => warnings.push(text))).toBeNull();
    expect(warnings).toEqual([expect.stringContaining("http://server:8000/metrics")]);
    await expect(
      watchOf(none.call, { wanted: "http://other:9100/metrics" }).open(null, () => undefined),
    ).rejects.toMatchObject({ exitCode: 3, message: expect.stringContaining("http://other:9100/metrics") });
  });

  it("off: a server that a sweep has started is asked for no metrics", async () => {
    const known = { metrics_url: "http://server:8000/metrics", engine: "vllm", dcgm_url: null };
    const off = server({ "/metrics": VLLM });
    await watchOf(off.call, { wanted: "off", known }).open(null, () => undefined);
    expect(off.asked.filter((ask) => ask.includes("metrics"))).toEqual([]);
  });

  it("says where the model asked for is not among those that the server lists", async () => {
    const warnings: string[] = [];
    const other = server({ "/metrics": VLLM, "/v1/models": models("a", "b") });
    const facts = await watchOf(other.call, { wanted: "auto" }).open(null, (text) => warnings.push(text));
    expect(facts?.["models"]).toEqual(["a", "b"]);
    expect(warnings).toEqual([expect.stringContaining('no model "m", only a, b')]);
  });
});
