/** What an HTTP client must do on real sockets, directly and through a proxy. HTTP/2: client-http2.test.ts. */
import { createServer, type AddressInfo, type Socket } from "node:net";
import zlib from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { HttpClient, HttpClientOptions } from "../../src/client/http-client.ts";
import { type ConnectProxy, startConnectProxy } from "../stub/connect-proxy.ts";
import { DONE, event, FIN, R, U } from "../stub/events.ts";
import { send, stubClient } from "../stub/send.ts";
import { type StubScript, type StubServer, startStub, type StubOptions } from "../stub/stub-server.ts";
import { chunk, head, LAST_CHUNK, response } from "../stub/wire.ts";

const TLS = {
  key: new URL("../stub/tls/key.pem", import.meta.url).pathname,
  cert: new URL("../stub/tls/cert.pem", import.meta.url).pathname,
};
const refusal = Buffer.from("HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n{}");
const ANSWER = response([R("A"), R("B"), FIN("stop"), U(2), DONE]);

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function stubFor(script: StubScript, options: StubOptions = {}): Promise<StubServer> {
  const stub = await startStub(script, options);
  closers.push(() => stub.close());
  return stub;
}

let proxy: ConnectProxy;
beforeAll(async () => {
  proxy = await startConnectProxy();
});
afterAll(() => proxy.close());

const TRANSPORTS: [name: string, options: () => Partial<HttpClientOptions>][] = [
  ["own HTTP/1.1", () => ({})],
  ["through a proxy", () => ({ proxy: proxy.url })],
];

describe.each(TRANSPORTS)("%s", (name, transport) => {
  const ours = name === "own HTTP/1.1";
  const client = (url: string, options: Partial<HttpClientOptions> = {}): HttpClient => {
    const made = stubClient(url, { ...transport(), ...options });
    closers.push(() => made.close());
    return made;
  };

  it("reads a stream; its times lie after the server's writes and in order", async () => {
    const stub = await stubFor(() => [
      { at: 30, bytes: Buffer.concat([Buffer.from(head("chunked")), chunk(R("A"))]) },
      { at: 60, bytes: chunk(R("B")) },
      { at: 90, bytes: Buffer.concat([chunk(FIN("stop") + U(2) + DONE), Buffer.from(LAST_CHUNK)]) },
    ]);
    const seen = await send(client(stub.url));
    const [request] = stub.requests;
    const [first, second, last] = (request as NonNullable<typeof request>).writes as [number, number, number];
    expect([seen.failure, seen.text, seen.output_tokens, seen.http_status]).toEqual([null, "AB", 2, 200]);
    expect(seen.first_token_ms as number).toBeGreaterThanOrEqual(first);
    // On a busy machine one read may bring both.
    expect(seen.first_token_ms as number).toBeLessThanOrEqual(seen.last_token_ms as number);
    expect(seen.last_token_ms as number).toBeGreaterThanOrEqual(second);
    expect(seen.end_ms).toBeGreaterThanOrEqual(last);
    expect(seen.sent_ms as number).toBeLessThanOrEqual(request?.at as number);
    expect(seen.connect_ms).toBeGreaterThan(0);
    expect(seen.chunk_ms).toEqual([seen.first_token_ms, seen.last_token_ms]);
  });

  it("uses a connection again, with 0 connect time", async () => {
    const stub = await stubFor(() => [{ bytes: ANSWER }]);
    const one = client(stub.url);
    expect((await send(one)).failure).toBeNull();
    await new Promise((resolve) => setTimeout(resolve, 80));
    const again = await send(one);
    expect([again.failure, again.connect_ms]).toEqual([null, 0]);
    expect([stub.connections, stub.requests.length]).toEqual([1, 2]);
  });

  it.runIf(ours)("uses it at once where the server was seen to keep it", async () => {
    const stub = await stubFor(() => [{ bytes: ANSWER }]);
    const one = client(stub.url);
    expect((await send(one)).failure).toBeNull();
    await new Promise((resolve) => setTimeout(resolve, 80));
    for (let i = 0; i < 5; i++) expect((await send(one)).failure).toBeNull();
    expect([stub.connections, stub.requests.length]).toEqual([1, 6]);
  });

  // The second is llama.cpp's: it says that it keeps what it closes a moment later.
  it.runIf(ours).each([[[]], [["Keep-Alive: timeout=5, max=100"]]])(
    "a server that closes after each response loses no request, whatever it says (%s)",
    async (headers) => {
      const bytes = response([R("A"), FIN("stop"), DONE], "chunked", { headers });
      const stub = await stubFor(() => [{ bytes }, { at: 2, end: "fin" }]);
      const one = client(stub.url);
      for (let i = 0; i < 40; i++) expect((await send(one)).failure).toBeNull();
      expect(stub.requests.length).toBe(40);
    },
  );

  it.runIf(ours)(
    "a server that keeps what it answers whole and closes what it streams loses no request",
    async () => {
      const stub = await stubFor(({ body }) =>
        body.includes("whole") ? [{ bytes: refusal }] : [{ bytes: ANSWER }, { end: "fin" }],
      );
      const one = client(stub.url);
      await one.connect();
      await new Promise((resolve) => setTimeout(resolve, 60));
      for (let i = 0; i < 12; i++) {
        const whole = i % 4 === 1;
        const seen = await send(one, { prompt: { kind: "text", text: whole ? "whole" : "streamed" } });
        expect(seen.failure?.code ?? null).toBe(whole ? "http_4xx" : null);
        if (whole) await new Promise((resolve) => setTimeout(resolve, 60));
      }
    },
  );

  it("a loop that stood still does not take a connection for kept whose end it has not read", async () => {
    const stub = await stubFor(() => [{ bytes: ANSWER }, { at: 2, end: "fin" }]);
    const one = client(stub.url);
    for (let i = 0; i < 5; i++) {
      expect((await send(one)).failure).toBeNull();
      const stopped = performance.now();
      while (performance.now() - stopped < 40);
    }
  });

  it("sends what was asked, and no more", async () => {
    const stub = await stubFor(() => [{ bytes: ANSWER }]);
    await send(client(`${stub.url}/v1`, { headers: { "X-A": "1" }, extraBody: { top_p: 0.5, seed: 3 } }), {
      headers: { "X-Request-Id": "q7" },
      params: { seed: 1, stop: ["x"] },
      max_tokens: 5,
      force_length: true,
      prompt: { kind: "ids", ids: [1, 2] },
    });
    const [request] = stub.requests;
    expect([request?.method, request?.path]).toEqual(["POST", "/v1/completions"]);
    expect(JSON.parse(request?.body ?? "")).toEqual({
      model: "m",
      prompt: [1, 2],
      max_tokens: 5,
      min_tokens: 5,
      ignore_eos: true,
      stream: true,
      stream_options: { include_usage: true },
      stop: ["x"],
      top_p: 0.5,
      seed: 3,
    });
    const { connection: _connection, ...headers } = request?.headers ?? {};
    expect(headers).toEqual({
      host: `127.0.0.1:${stub.port}`,
      "user-agent": expect.stringMatching(/^reprise\//),
      accept: "*/*",
      "accept-encoding": "identity",
      "content-type": "application/json",
      "x-a": "1",
      "x-request-id": "q7",
      "content-length": String(Buffer.byteLength(request?.body ?? "")),
    });
  });

  it.each(["429 Too Many Requests", "503 Service Unavailable", "404 Not Found", "307 Temporary Redirect"])(
    "%s is one failed request",
    async (status) => {
      const body = JSON.stringify({ error: { message: `said ${status}` } });
      const options = { status, type: "application/json", headers: ["Location: http://elsewhere/v1"] };
      const stub = await stubFor(() => [{ bytes: response([body], "length", options) }]);
      const seen = await send(client(stub.url));
      const code = Number(status.slice(0, 3));
      const expected = { 429: "http_429", 503: "http_5xx", 404: "http_4xx", 307: "http_3xx" }[code];
      expect([seen.failure?.code, seen.failure?.http_status, seen.attempts]).toEqual([expected, code, 1]);
      expect(seen.failure?.message).toContain(`said ${status}`);
      expect(seen.failure?.message).toContain("http://elsewhere/v1");
      expect([seen.first_token_ms, stub.requests.length]).toEqual([null, 1]);
    },
  );

  it("retries only when asked; latencies count from the first attempt", async () => {
    const no = response(["busy"], "length", { status: "503 Busy", type: null, headers: ["Retry-After: 0"] });
    const stub = await stubFor((_request, index) => [{ bytes: index < 2 ? no : ANSWER }]);
    const seen = await send(client(stub.url, { retries: 2 }));
    expect([seen.failure, seen.attempts, stub.requests.length]).toEqual([null, 3, 3]);
    expect(seen.sent_ms as number).toBeLessThanOrEqual(stub.requests[0]?.at as number);
  });

  it.each(["gzip", "deflate", "br"] as const)("%s answered anyway is undone and told", async (coding) => {
    const pack = { gzip: zlib.gzipSync, deflate: zlib.deflateSync, br: zlib.brotliCompressSync }[coding];
    const packed = pack(Buffer.from(R("你") + R("B") + FIN("stop") + U(2) + DONE));
    const stub = await stubFor(() => {
      const whole = response([packed.subarray(0, 20), packed.subarray(20)], "chunked", {
        headers: [`Content-Encoding: ${coding}`],
      });
      return [{ bytes: whole.subarray(0, -12) }, { at: 40, bytes: whole.subarray(-12) }];
    });
    const seen = await send(client(stub.url));
    expect([seen.failure, seen.text, seen.output_tokens]).toEqual([null, "你B", 2]);
    expect(seen.notes.join()).toContain(coding);
  });

  it("a gzip error body is undone too; a cut gzip body is truncated", async () => {
    const headers = ["Content-Encoding: gzip"];
    const stub = await stubFor((_request, index) => [
      {
        bytes:
          index === 0
            ? response([zlib.gzipSync('{"detail":"no such model"}')], "length", {
                status: "404 X",
                type: "application/json",
                headers,
              })
            : response([zlib.gzipSync(R("A") + R("B")).subarray(0, -10)], "length", { headers }),
      },
    ]);
    const one = client(stub.url);
    expect((await send(one)).failure?.message).toBe("HTTP 404: no such model");
    expect((await send(one)).failure?.code).toBe("truncated");
  });

  it.each([
    [
      "a reset after a token",
      [{ bytes: Buffer.concat([Buffer.from(head("chunked")), chunk(R("A"))]) }, { at: 40, end: "rst" }],
      "reset",
      1,
    ],
    ["a reset before any byte", [{ end: "rst" }], "reset", 0],
    ["FIN before any byte", [{ end: "fin" }], "reset", 0],
    [
      "FIN in the middle",
      [{ bytes: Buffer.concat([Buffer.from(head("chunked")), chunk(R("A"))]), end: "fin" }],
      "truncated",
      1,
    ],
    ["no HTTP", [{ bytes: "SSH-2.0-x\r\n\r\n", end: "fin" }], "protocol", 0],
    ["a broken chunk", [{ bytes: `${head("chunked")}zz\r\nabc\r\n`, end: "fin" }], "protocol", 0],
    ["an error event", [{ bytes: response([event({ error: { message: "x" } })]) }], "server_error", 0],
  ] as [string, ReturnType<StubScript>, string, number][])(
    "%s -> the right code",
    async (_name, steps, code, chunks) => {
      const stub = await stubFor(() => steps);
      const seen = await send(client(stub.url));
      expect([seen.failure?.code, seen.chunks, stub.requests.length]).toEqual([code, chunks, 1]);
      expect(seen.sent_ms).not.toBeNull();
    },
  );

  it("nobody listens -> connect; no such name -> dns; nothing was sent", async () => {
    const stub = await startStub(() => []);
    await stub.close();
    for (const host of ["127.0.0.1", "localhost"]) {
      const seen = await send(client(`http://${host}:${stub.port}`));
      expect([seen.failure?.code, seen.sent_ms, seen.first_token_ms]).toEqual(["connect", null, null]);
    }
    const unknown = await send(client("http://no-such-name.invalid:9"));
    // The proxy looks the name up.
    expect(unknown.failure?.code).toBe(ours ? "dns" : "connect");
  });

  it("reaches a server by name and by IPv6", async () => {
    const stub = await stubFor(() => [{ bytes: ANSWER }]);
    expect((await send(client(`http://localhost:${stub.port}`))).failure).toBeNull();
    const six = await stubFor(() => [{ bytes: ANSWER }], { host: "::1" }).catch(() => null);
    if (six !== null) expect((await send(client(six.url))).failure).toBeNull();
  });

  it("a time limit cuts a server that never answers", async () => {
    const stub = await stubFor(() => []);
    const seen = await send(client(stub.url, { timeoutMs: 150 }));
    expect([seen.failure?.code, seen.http_status]).toEqual(["timeout", null]);
    expect(seen.end_ms - (seen.sent_ms as number)).toBeGreaterThan(100);
  });

  it("TLS: an unknown certificate is refused, --ca and --insecure accept it", async () => {
    const stub = await stubFor(() => [{ bytes: ANSWER }], { tls: TLS });
    const url = `https://localhost:${stub.port}`;
    expect((await send(client(url))).failure?.code).toBe("tls");
    expect((await send(client(url, { insecure: true }))).failure).toBeNull();
    expect((await send(client(`https://127.0.0.1:${stub.port}`, { ca: TLS.cert }))).failure).toBeNull();
    const trusted = client(url, { ca: TLS.cert });
    const first = await send(trusted);
    await new Promise((resolve) => setTimeout(resolve, 80));
    const second = await send(trusted);
    expect([first.failure, second.failure, second.connect_ms, second.text]).toEqual([null, null, 0, "AB"]);
    expect(first.connect_ms).toBeGreaterThan(0);
  });

  it("https against a plain server -> tls", async () => {
    const stub = await stubFor(() => [{ bytes: ANSWER, end: "fin" }]);
    const raw = createServer((socket: Socket) =>
      socket.once("data", () => socket.end("HTTP/1.1 400 Bad\r\n\r\n")).on("error", () => {}),
    );
    await new Promise<void>((resolve) => raw.listen(0, "127.0.0.1", resolve));
    closers.push(() => new Promise((resolve) => raw.close(() => resolve())));
    expect(
      (await send(client(`https://127.0.0.1:${(raw.address() as AddressInfo).port}`, { insecure: true })))
        .failure?.code,
    ).toBe("tls");
    expect(stub.requests.length).toBe(0);
  });

  it("a reply of 2 MiB in one event", async () => {
    const long = "x".repeat(2 << 20);
    const stub = await stubFor(() => [{ bytes: response([R(long) + FIN("stop") + DONE]) }]);
    expect((await send(client(stub.url))).text?.length).toBe(long.length);
  });

  it("a request of 2 MiB", async () => {
    const stub = await stubFor(() => [{ bytes: ANSWER }]);
    const text = "é".repeat(1 << 20);
    const seen = await send(client(stub.url), { prompt: { kind: "text", text } });
    expect([seen.failure, JSON.parse(stub.requests[0]?.body ?? "").prompt.length]).toEqual([
      null,
      text.length,
    ]);
  });

  it("100 at once", async () => {
    const stub = await stubFor(() => [{ at: 20, bytes: ANSWER }]);
    const one = client(stub.url);
    const all = await Promise.all(Array.from({ length: 100 }, () => send(one)));
    expect(all.filter((seen) => seen.failure !== null)).toEqual([]);
    expect(stub.requests.length).toBe(100);
    expect(one.openStreams).toBe(0);
  });

  it.runIf(ours)(
    "an answer before the request is written, on a connection that then breaks, is still the answer",
    async () => {
      const stub = await stubFor(() => [
        {
          bytes: response(['{"detail":"too large"}'], "length", {
            status: "413 X",
            type: "application/json",
          }),
          end: "fin",
        },
      ]);
      expect((await send(client(stub.url))).failure?.message).toBe("HTTP 413: too large");
    },
  );
});

it("a proxy gets its own credentials and not the server's; its connection is used again", async () => {
  const stub = await stubFor(() => [{ bytes: ANSWER }]);
  const own = await startConnectProxy();
  closers.push(() => own.close());
  const client = stubClient(stub.url, {
    apiKey: "sk-server-key",
    proxy: own.url.replace("//", "//me:proxy-pass@"),
  });
  const seen = await send(client);
  expect(seen.connect_ms).toBeGreaterThan(0);
  await new Promise((resolve) => setTimeout(resolve, 80));
  expect((await send(client)).connect_ms).toBe(0);
  await client.close();
  expect([seen.failure, seen.text, own.heads.length]).toEqual([null, "AB", 1]);
  expect(own.heads[0]).toContain(`CONNECT 127.0.0.1:${stub.port}`);
  expect(own.heads[0]).toContain(Buffer.from("me:proxy-pass").toString("base64"));
  expect(own.heads[0]).not.toContain("sk-server-key");
  expect(stub.requests[0]?.headers["authorization"]).toBe("Bearer sk-server-key");
});

it.each([
  ["hangs up", null, "it closed the connection"],
  [
    "wants credentials",
    "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
    "407 Proxy Authentication Required",
  ],
  ["refuses", "HTTP/1.1 403 Forbidden\r\n\r\nno", "it answers 403 Forbidden"],
  ["speaks something else", "SSH-2.0-x\r\n", "it does not speak HTTP"],
])("a proxy that %s is a failure to connect, and is asked once", async (_name, answer, message) => {
  const own = await startConnectProxy({ answer });
  closers.push(() => own.close());
  for (const more of [{}, { http2: true }]) {
    const one = stubClient("https://127.0.0.1:9", { proxy: own.url, timeoutMs: 3000, ...more });
    closers.push(() => one.close());
    const seen = await send(one);
    expect([seen.failure?.code, seen.sent_ms]).toEqual(["connect", null]);
    expect(seen.failure?.message).toContain(message);
  }
  expect(own.heads.length).toBe(2);
});

it.each([
  ["a plain proxy", {}],
  ["a proxy behind TLS", { tls: TLS }],
] as const)("TLS through %s: the handshake is the server's", async (_name, options) => {
  const stub = await stubFor(() => [{ bytes: ANSWER }], { tls: TLS });
  const own = await startConnectProxy(options);
  closers.push(() => own.close());
  const url = stub.url.replace("127.0.0.1", "localhost");
  const proxied = own.url.replace("127.0.0.1", "localhost");
  const one = stubClient(url, { proxy: proxied, ca: TLS.cert });
  closers.push(() => one.close());
  const seen = await send(one);
  expect([seen.failure, seen.text, own.heads.length]).toEqual([null, "AB", 1]);
  const doubted = stubClient(url, { proxy: proxied });
  closers.push(() => doubted.close());
  expect((await send(doubted)).failure?.code).toBe("tls");
});
