import { afterEach, describe, expect, it } from "vitest";
import { DONE, FIN, R } from "../stub/events.ts";
import { observeSteps, timed } from "../stub/observe.ts";
import { send, stubClient } from "../stub/send.ts";
import { type StubServer, startStub } from "../stub/stub-server.ts";
import { response } from "../stub/wire.ts";

let stub: StubServer | null = null;
afterEach(async () => {
  await stub?.close();
  stub = null;
});

describe("case 24: the HTTP client's timers", () => {
  const late = timed([[310_000, R("A") + FIN("stop") + DONE]]);

  it("headers after 310 s with timeout 600 -> ok", async () => {
    const seen = await observeSteps(late, { client: { timeoutMs: 600_000 } });
    expect([seen.failure, seen.first_token_ms]).toEqual([null, 310_000]);
  });

  it("with timeout 5 -> timeout at 5 s", async () => {
    const seen = await observeSteps(late, { client: { timeoutMs: 5000 } });
    expect([seen.failure?.code, seen.end_ms, seen.sent_ms]).toEqual(["timeout", 5000, 0]);
    expect(seen.failure?.message).toContain("5 s");
  });

  it("the limit counts from the send to the end of the stream", async () => {
    const seen = await observeSteps(
      timed([
        [10, R("A")],
        [5001, FIN("stop") + DONE],
      ]),
      { client: { timeoutMs: 5000 } },
    );
    expect([seen.failure?.code, seen.end_ms, seen.chunks]).toEqual(["timeout", 5000, 1]);
  });

  it("a server that closes idle sockets just as the next turn comes: no failure, nothing sent twice", async () => {
    stub = await startStub(() => [{ bytes: response([R("A") + FIN("stop") + DONE]) }], { idleMs: 1000 });
    const client = stubClient(stub.url);
    const turns = 4;
    const lanes = 50;
    await Promise.all(
      Array.from({ length: lanes }, async (_, lane) => {
        for (let i = 0; i < turns; i++) {
          const seen = await send(client, { request_id: `${lane}-${i}` });
          expect(seen.failure).toBeNull();
          await new Promise((resolve) => setTimeout(resolve, 985 + ((lane * 7 + i * 3) % 25)));
        }
      }),
    );
    expect(stub.requests.length).toBe(turns * lanes);
    await client.close();
  });

  it("a Keep-Alive timeout is heeded, less 500 ms", async () => {
    const bytes = response([R("A") + FIN("stop") + DONE], "chunked", { headers: ["Keep-Alive: timeout=1"] });
    stub = await startStub(() => [{ bytes }]);
    const client = stubClient(stub.url);
    for (const wait of [50, 50, 700, 0]) {
      expect((await send(client)).failure).toBeNull();
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
    expect(stub.requests.map((request) => request.connection)).toEqual([0, 0, 0, 1]);
    await client.close();
  });
});
