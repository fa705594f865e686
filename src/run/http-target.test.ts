import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { RealClock } from "../core/real-clock.ts";
import { openHttpTarget } from "./http-target.ts";
import type { Target } from "./target.ts";

const servers: Server[] = [];
const targets: Target[] = [];
afterEach(async () => {
  for (const target of targets.splice(0)) await target.close();
  for (const server of servers.splice(0)) server.close();
});

interface Asked {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** A server that lists one model, has metrics, and keeps what it was asked. */
async function start(): Promise<{ url: string; asked: Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    asked.push({ path: request.url ?? "", headers: request.headers });
    if (request.url === "/metrics") response.end("vllm:num_requests_running 0\n");
    else if (request.url === "/v1/models") response.end(JSON.stringify({ data: [{ id: "m" }] }));
    else response.writeHead(404).end();
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

async function open(given: Parameters<typeof openHttpTarget>[0]["given"]): Promise<Target> {
  const target = await openHttpTarget({
    given,
    env: { KEY: "sk-of-this-server" },
    clock: new RealClock(),
    defaultBackend: "openai",
    defaultHost: "localhost",
  });
  targets.push(target);
  return target;
}

describe("a server behind HTTP", () => {
  it("that cannot be reached is told before anything is planned: through a proxy, and by its certificate", async () => {
    const { url } = await start();
    await expect(open({ base_url: url, model: "m", proxy: "http://127.0.0.1:1" })).rejects.toMatchObject({
      message: expect.stringMatching(/^cannot reach .*proxy 127\.0\.0\.1:1/),
      exitCode: 3,
    });
    // It does not speak TLS at all.
    await expect(open({ base_url: url.replace("http", "https"), model: "m" })).rejects.toMatchObject({
      hint: expect.stringContaining("begins with http://"),
      exitCode: 3,
    });
  });

  it("is asked for nothing but what is needed", async () => {
    const { url, asked } = await start();
    const target = await open({ base_url: url, model: "m" });
    expect([target.watch ?? null, asked]).toEqual([null, []]);
  });

  it("gets its key in every side request, and nobody else gets it", async () => {
    const [own, other] = [await start(), await start()];
    const target = await open({
      base_url: own.url,
      api_key_env: "KEY",
      engine_metrics: `${other.url}/metrics`,
    });
    expect(await target.watch?.open(null, () => undefined)).toMatchObject({ engine: "vllm" });
    expect(own.asked.map(({ path }) => path)).toContain("/v1/models");
    for (const { headers } of own.asked) expect(headers.authorization).toBe("Bearer sk-of-this-server");
    expect(other.asked.map(({ path, headers }) => [path, headers.authorization])).toEqual([
      ["/metrics", undefined],
    ]);
    const same = await open({ base_url: own.url, api_key_env: "KEY", engine_metrics: "auto" });
    await same.watch?.open(null, () => undefined);
    const scrapes = own.asked.filter(({ path }) => path === "/metrics");
    expect(scrapes.map(({ headers }) => headers.authorization)).toEqual(["Bearer sk-of-this-server"]);
  });

  it("gets the key as its protocol carries it", async () => {
    const { url, asked } = await start();
    await open({ base_url: url, backend: "anthropic", api_key_env: "KEY" });
    expect(asked.map(({ path, headers }) => [path, headers["x-api-key"], headers.authorization])).toEqual([
      ["/v1/models", "sk-of-this-server", undefined],
    ]);
  });
});
