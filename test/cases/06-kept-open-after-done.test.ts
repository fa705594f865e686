import { afterEach, describe, expect, it } from "vitest";
import { findProtocol } from "../../src/client/protocols/index.ts";
import { DONE, event, FIN, R, U } from "../stub/events.ts";
import { observeSteps } from "../stub/observe.ts";
import { send, stubClient } from "../stub/send.ts";
import { type StubServer, startStub } from "../stub/stub-server.ts";
import { chunk, head, response } from "../stub/wire.ts";

let stub: StubServer | null = null;
afterEach(async () => {
  await stub?.close();
  stub = null;
});

describe("case 6: over at the end event, however it is written, though nothing follows", () => {
  const end = (body: string): Promise<readonly unknown[]> =>
    observeSteps([{ at: 10, bytes: Buffer.concat([Buffer.from(head("chunked")), chunk(body)]) }], {
      client: { timeoutMs: 5000 },
    }).then((seen) => [seen.failure, seen.text, seen.end_ms]);

  it.each([
    ["one LF", "data: [DONE]\n"],
    ["one CR LF", "data: [DONE]\r\n"],
    ["one CR", "data: [DONE]\r"],
    ["no line end, no space", "data:[DONE]"],
    ["no line end, two spaces", "data:  [DONE]"],
    ["white space behind it", "data: [DONE] "],
    ["an id before it", "id: 5\ndata: [DONE]\n"],
    ["an event name", "event: done\ndata: [DONE]\n"],
    ["quoted, as JSON", 'data: "[DONE]"\n'],
    ["small letters", "data: [done]\n"],
    ["no blank line before it", `${R("C").trimEnd()}\ndata: [DONE]\n`],
  ])("%s", async (name, tail) => {
    const text = name === "no blank line before it" ? "ABC" : "AB";
    expect(await end(R("A") + R("B") + FIN("stop") + tail)).toEqual([null, text, 10]);
    expect(await end(R("A") + R("B") + tail)).toEqual([null, text, 10]);
  });

  it.each([
    ["a finish reason", FIN("stop"), 60_000],
    ["a finish reason and the usage", FIN("stop") + U(2), 60_000],
    ["a finish reason, with a time limit before the silence is over", FIN("stop"), 3000],
  ])("five seconds after %s, where no end event comes", async (_name, tail, timeoutMs) => {
    const seen = await observeSteps(
      [
        { at: 10, bytes: Buffer.concat([Buffer.from(head("chunked")), chunk(R("A") + R("B"))]) },
        { at: 20, bytes: chunk(tail) },
        { at: 2000, bytes: chunk(": ping\n\n") },
      ],
      { client: { timeoutMs } },
    );
    expect([seen.failure, seen.text, seen.end_ms]).toEqual([null, "AB", 20]);
    expect(seen.notes.join()).toContain("left open");
  });

  it("a finish reason with every chunk is no finish", async () => {
    const more = { finish_reason: "stop" };
    const seen = await observeSteps(
      [
        { at: 10, bytes: Buffer.concat([Buffer.from(head("chunked")), chunk(R("A", more) + R("B", more))]) },
        { at: 9000, bytes: chunk(R("C", more) + DONE) },
      ],
      { client: { timeoutMs: 60_000 } },
    );
    expect([seen.failure, seen.text, seen.end_ms]).toEqual([null, "ABC", 9000]);
  });

  it("what comes late after the finish reason is still heard", async () => {
    const start = Buffer.concat([Buffer.from(head("chunked")), chunk(R("A") + R("B") + FIN("stop"))]);
    const seen = await observeSteps([
      { at: 10, bytes: start },
      { at: 4000, bytes: chunk(U(7)) },
      { at: 8000, bytes: chunk(DONE) },
    ]);
    expect([seen.failure, seen.output_tokens, seen.end_ms, seen.notes]).toEqual([null, 7, 8000, []]);
  });

  it.each([
    ["llama-server", event({ content: "A" }) + event({ content: "", stop: true, stop_type: "eos" })],
    ["tgi", event({ token: { text: "A" }, generated_text: "A", details: null })],
  ])("the last event of %s", async (name, body) => {
    const seen = await observeSteps(
      [{ at: 10, bytes: Buffer.concat([Buffer.from(head("chunked")), chunk(body)]) }],
      { protocol: findProtocol(name), client: { timeoutMs: 5000 } },
    );
    expect([seen.failure, seen.text, seen.end_ms]).toEqual([null, "A", 10]);
  });
});

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
