import { afterEach, expect, it } from "vitest";
import { DONE, FIN, R } from "../stub/events.ts";
import { send, stubClient } from "../stub/send.ts";
import { type StubServer, startStub } from "../stub/stub-server.ts";
import { chunk, head, response } from "../stub/wire.ts";

let stub: StubServer;
afterEach(() => stub.close());

it("case 6: a socket kept open after [DONE] is over at once and not used again", async () => {
  stub = await startStub((_request, index) => {
    // The last of them leaves out the newlines too.
    const done = index === 4 ? DONE.trim() : DONE;
    return [
      { at: 200, bytes: Buffer.concat([Buffer.from(head("chunked")), chunk(R("A") + FIN("stop") + done)]) },
    ];
  });
  const client = stubClient(stub.url);
  const start = performance.now();
  for (let i = 0; i < 5; i++) {
    const seen = await send(client);
    expect(seen.failure).toBeNull();
    // The end is the instant of [DONE].
    expect(seen.end_ms).toBe(seen.last_token_ms);
  }
  // 5 × 200 ms and what a busy machine adds; waiting for the body's end would take 5 × 20 s.
  expect(performance.now() - start).toBeLessThan(3000);
  expect(stub.connections).toBe(5);
  expect(client.openStreams).toBe(0);
  await client.close();
});

it("a body that ends a moment after [DONE] gives its connection back", async () => {
  stub = await startStub(() => {
    const whole = response([R("A") + FIN("stop") + DONE]);
    return [{ bytes: whole.subarray(0, -5) }, { at: 20, bytes: whole.subarray(-5) }];
  });
  const client = stubClient(stub.url);
  for (let i = 0; i < 4; i++) {
    expect((await send(client)).failure).toBeNull();
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
  expect(stub.requests.length).toBe(4);
  expect(stub.connections).toBe(1);
  await client.close();
});
