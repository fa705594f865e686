/** HTTP/2 on real sockets: streams beside each other, a server that takes its leave, one that does not speak it. */
import { readFileSync } from "node:fs";
import { constants, createSecureServer, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, connect, createServer } from "node:net";
import { afterEach, expect, it } from "vitest";
import type { HttpClient, HttpClientOptions } from "../../src/client/http-client.ts";
import { startConnectProxy } from "../stub/connect-proxy.ts";
import { DONE, FIN, R, U } from "../stub/events.ts";
import { send, stubClient } from "../stub/send.ts";
import { startStub } from "../stub/stub-server.ts";
import { response } from "../stub/wire.ts";

const TLS = {
  key: new URL("../stub/tls/key.pem", import.meta.url).pathname,
  cert: new URL("../stub/tls/cert.pem", import.meta.url).pathname,
};
const TAIL = FIN("stop") + U(2) + DONE;

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

type Script = (stream: ServerHttp2Stream, index: number, session: ServerHttp2Session) => void;

interface Http2Stub {
  readonly url: string;
  readonly sessions: readonly ServerHttp2Session[];
  readonly bodies: readonly string[];
}

async function http2Stub(script: Script, maxConcurrentStreams = 100): Promise<Http2Stub> {
  const server = createSecureServer({
    key: readFileSync(TLS.key),
    cert: readFileSync(TLS.cert),
    settings: { maxConcurrentStreams },
  });
  const sessions: ServerHttp2Session[] = [];
  const bodies: string[] = [];
  server.on("session", (session) => {
    sessions.push(session);
    session.on("error", () => {});
  });
  server.on("stream", (stream) => {
    const session = stream.session as ServerHttp2Session;
    stream.on("error", () => {});
    let body = "";
    stream.setEncoding("utf8").on("data", (text: string) => (body += text));
    stream.once("end", () => script(stream, bodies.push(body) - 1, session));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return { url: `https://localhost:${(server.address() as AddressInfo).port}`, sessions, bodies };
}

function client(url: string, more: Partial<HttpClientOptions> = {}): HttpClient {
  const made = stubClient(url, { http2: true, ca: TLS.cert, ...more });
  closers.push(() => made.close());
  return made;
}

/** "A" at once, "B" and the end after `ms`. */
function answer(stream: ServerHttp2Stream, ms = 0): void {
  stream.respond({ ":status": 200, "content-type": "text/event-stream" });
  stream.write(R("A"));
  setTimeout(() => stream.destroyed || stream.end(R("B") + TAIL), ms);
}

it("sends many requests at a time on one connection; the first has its connect time", async () => {
  const stub = await http2Stub((stream) => answer(stream, 50));
  const one = client(stub.url, { apiKey: "sk-k1" });
  const first = await send(one);
  const all = await Promise.all(Array.from({ length: 20 }, () => send(one)));
  expect(first.connect_ms).toBeGreaterThan(0);
  for (const seen of all) {
    expect([seen.failure, seen.text, seen.output_tokens, seen.connect_ms]).toEqual([null, "AB", 2, 0]);
    expect((seen.last_token_ms as number) - (seen.first_token_ms as number)).toBeGreaterThan(20);
  }
  expect([stub.sessions.length, stub.bodies.length]).toEqual([1, 21]);
});

it("opens another connection where the server allows no more streams; a hanging one holds up nobody", async () => {
  const stub = await http2Stub((stream, index) => (index < 2 ? stream.respond() : answer(stream)), 2);
  const one = client(stub.url, { timeoutMs: 2000 });
  const hanging = [send(one), send(one)];
  await expect.poll(() => stub.bodies.length).toBe(2);
  const seen = await send(one);
  expect([seen.failure, seen.text, stub.sessions.length]).toEqual([null, "AB", 2]);
  for (const { failure } of await Promise.all(hanging)) expect(failure?.code).toBe("timeout");
  // Their streams are free again.
  expect((await send(one)).failure).toBeNull();
  expect(stub.sessions.length).toBe(2);
});

it("a server that takes its leave (GOAWAY) ends what has begun, and is asked anew on another connection", async () => {
  const stub = await http2Stub((stream, index, session) => {
    answer(stream, 60);
    if (index < 2) setTimeout(() => session.goaway(constants.NGHTTP2_NO_ERROR), 20);
  });
  const one = client(stub.url);
  const both = Promise.all([send(one), send(one)]);
  await new Promise((resolve) => setTimeout(resolve, 45));
  const third = await send(one);
  for (const seen of [...(await both), third]) expect([seen.failure, seen.text]).toEqual([null, "AB"]);
  expect(stub.sessions.length).toBe(2);
});

it.each([
  ["GOAWAY with an error", (s: ServerHttp2Stream) => s.session?.goaway(2), "reset"],
  ["a reset of the stream", (s: ServerHttp2Stream) => s.close(constants.NGHTTP2_INTERNAL_ERROR), "reset"],
  ["a cut connection", (s: ServerHttp2Stream) => s.session?.destroy(), "reset"],
  ["an end without a finish", (s: ServerHttp2Stream) => s.end(), "truncated"],
] as const)("%s is a failure, and the next request is none", async (_name, act, code) => {
  const stub = await http2Stub((stream, index) => {
    if (index > 0) return answer(stream);
    stream.respond({ ":status": 200, "content-type": "text/event-stream" });
    stream.write(R("A"));
    setTimeout(() => act(stream), 20);
  });
  const one = client(stub.url);
  const seen = await send(one);
  // A server may end a stream properly before it resets it.
  expect([code, "truncated"]).toContain(seen.failure?.code);
  expect([seen.first_token_ms !== null, seen.chunks]).toEqual([true, 1]);
  expect((await send(one)).failure).toBeNull();
});

it("a refused stream and a status are told; interim answers and trailers are none", async () => {
  const stub = await http2Stub((stream, index) => {
    if (index === 0) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
    if (index === 1) {
      stream.respond({ ":status": 503 });
      return stream.end("busy");
    }
    stream.additionalHeaders({ ":status": 103 });
    stream.respond({ ":status": 200 }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "x-t": "1" }));
    stream.end(R("A") + R("B") + TAIL);
  });
  const one = client(stub.url);
  expect((await send(one)).failure).toMatchObject({
    code: "reset",
    message: expect.stringContaining("REFUSED"),
  });
  expect((await send(one)).failure).toMatchObject({ code: "http_5xx", message: "HTTP 503: busy" });
  expect([(await send(one)).text, stub.sessions.length]).toEqual(["AB", 1]);
});

it("over at [DONE] although the stream stays open", async () => {
  const stub = await http2Stub((stream) => {
    stream.respond();
    stream.write(R("A") + R("B") + TAIL);
  });
  const one = client(stub.url);
  for (let i = 0; i < 3; i++) expect((await send(one)).failure).toBeNull();
  expect(stub.sessions.length).toBe(1);
});

it("speaks HTTP/1.1 with a server that offers no HTTP/2; the handshake is connecting", async () => {
  const stub = await startStub(() => [{ bytes: response([R("A"), R("B"), TAIL]) }], { tls: TLS });
  closers.push(() => stub.close());
  const one = client(stub.url.replace("127.0.0.1", "localhost"));
  const seen = await send(one);
  expect([seen.failure, seen.text, stub.requests.length]).toEqual([null, "AB", 1]);
  expect(seen.connect_ms).toBeGreaterThan(0);
  const plain = await startStub(() => [{ bytes: response([R("A"), TAIL]) }]);
  closers.push(() => plain.close());
  expect((await send(client(plain.url))).text).toBe("A");
});

it("a burst keeps to the streams that the server allows: none is refused", async () => {
  const stub = await http2Stub((stream) => answer(stream, 30), 10);
  const one = client(stub.url);
  const all = await Promise.all(Array.from({ length: 45 }, () => send(one)));
  for (const seen of all) expect([seen.failure, seen.text]).toEqual([null, "AB"]);
  expect(stub.bodies.length).toBe(45);
});

it("a handshake that hangs holds up those that began it, not those after", async () => {
  let hang = true;
  const plain = createServer((socket) => {
    socket.on("error", () => {});
    if (hang) return;
    const up = connect(Number(new URL(stub.url).port), "127.0.0.1");
    up.on("error", () => socket.destroy());
    socket.pipe(up).pipe(socket);
  });
  const stub = await http2Stub((stream) => answer(stream));
  await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve));
  closers.push(() => void plain.close());
  const one = client(`https://localhost:${(plain.address() as AddressInfo).port}`, { timeoutMs: 500 });
  expect((await send(one)).failure?.code).toBe("timeout");
  hang = false;
  expect((await send(one)).failure).toBeNull();
});

it("goes through a proxy", async () => {
  const stub = await http2Stub((stream) => answer(stream));
  const proxy = await startConnectProxy();
  closers.push(() => proxy.close());
  const one = client(stub.url, { proxy: proxy.url });
  const all = await Promise.all([send(one), send(one), send(one)]);
  for (const seen of all) expect([seen.failure, seen.text]).toEqual([null, "AB"]);
  expect([stub.sessions.length, proxy.heads.length]).toEqual([1, 1]);
});

it("nobody listens -> connect; an unknown certificate -> tls; a server that hangs up -> tls", async () => {
  const stub = await http2Stub((stream) => answer(stream));
  expect((await send(client("https://127.0.0.1:1"))).failure?.code).toBe("connect");
  expect((await send(stubClient(stub.url, { http2: true }))).failure?.code).toBe("tls");
  const plain = await startStub(() => [{ end: "fin" }]);
  closers.push(() => plain.close());
  expect(
    (await send(client(plain.url.replace("http:", "https:"), { timeoutMs: 1500 }))).failure?.code,
  ).toMatch(/tls|timeout/);
});

it("leaves nothing behind: cancelled and closed", async () => {
  const stub = await http2Stub((stream) => stream.respond());
  const one = client(stub.url);
  const waiting = send(one);
  await expect.poll(() => stub.bodies.length).toBe(1);
  await one.close();
  expect((await waiting).failure?.code).toBe("aborted");
  expect(one.openStreams).toBe(0);
});
