/** Connections opened ahead of the first request. */
import { afterEach, describe, expect, it } from "vitest";
import { DONE, R, U } from "../../../test/stub/events.ts";
import { type StubServer, startStub } from "../../../test/stub/stub-server.ts";
import { response } from "../../../test/stub/wire.ts";
import { RealClock } from "../../core/real-clock.ts";
import { createHttpClient, type HttpClient } from "../http-client.ts";
import { openai } from "../protocols/openai.ts";
import type { Observation } from "../../record/observation.ts";

let stub: StubServer;
let client: HttpClient;

async function open(reply: Buffer = response([R("a") + U(1) + DONE])): Promise<void> {
  stub = await startStub(() => [{ bytes: reply }]);
  client = createHttpClient({ protocol: openai, baseUrl: stub.url, clock: new RealClock() });
}

afterEach(async () => {
  await client.close();
  await stub.close();
});

function send(): Promise<Observation> {
  const prepared = client.prepare({
    request_id: "r",
    model: "m",
    prompt: { kind: "text", text: "hi" },
    max_tokens: 1,
    force_length: false,
    temperature: null,
    stream: true,
    params: null,
    headers: null,
    keep_text: false,
    keep_chunks: false,
  });
  return new Promise((resolve) => void client.send(prepared, resolve));
}

describe("a connection opened ahead", () => {
  it("is the one that the first request uses, and no further one is opened for it", async () => {
    await open();
    expect(await client.connect()).toBe(null);
    expect(await client.connect()).toBe(null);
    const seen = await send();
    expect(seen).toMatchObject({ failure: null, connect_ms: 0 });
    expect(stub.connections).toBe(1);
    expect(stub.requests[0]?.connection).toBe(0);
  });

  it("is closed when it is given up; the next request opens its own", async () => {
    await open();
    await client.connect();
    client.dropUnused();
    const seen = await send();
    expect(seen.failure).toBe(null);
    expect(seen.connect_ms).toBeGreaterThan(0);
    expect(stub.requests[0]?.connection).toBe(1);
  });

  it("that has waited too long is not trusted", async () => {
    await open();
    await client.connect();
    await new Promise((resolve) => setTimeout(resolve, 1100));
    expect((await send()).failure).toBe(null);
    expect(stub.requests[0]?.connection).toBe(1);
  });

  it("to nobody says why not", async () => {
    await open();
    await stub.close();
    expect(await client.connect()).toMatchObject({
      code: "connect",
      message: expect.stringContaining("ECONNREFUSED") as string,
    });
  });

  it("counts open streams from the first byte sent to the end", async () => {
    await open();
    await client.connect();
    expect(client.openStreams).toBe(0);
    const answer = send();
    expect(client.openStreams).toBe(1);
    await answer;
    expect(client.openStreams).toBe(0);
  });
});
