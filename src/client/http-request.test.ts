import zlib from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import { type StubServer, startStub } from "../../test/stub/stub-server.ts";
import { response } from "../../test/stub/wire.ts";
import { httpGet, httpPost, HttpRequestError, ping } from "./http-request.ts";

let stub: StubServer | null = null;
afterEach(async () => {
  await stub?.close();
  stub = null;
});

describe("plain requests", () => {
  it("give status, headers and body, of any status", async () => {
    stub = await startStub(() => [
      { bytes: response(["no"], "chunked", { status: "404 X", headers: ["X-A: 1", "X-A: 2"] }) },
    ]);
    const reply = await httpGet(`${stub.url}/health?x=1`);
    expect([reply.status, reply.body, reply.headers.get("x-a"), stub.requests[0]?.path]).toEqual([
      404,
      "no",
      "1, 2",
      "/health?x=1",
    ]);
    expect(stub.requests[0]?.headers).not.toHaveProperty("content-type");
  });

  it("post JSON, with credentials of the URL as Basic", async () => {
    stub = await startStub(() => [{ bytes: response(['{"count":3}'], "length") }]);
    const reply = await httpPost(`${stub.url.replace("//", "//u:pass@")}/tokenize`, { prompt: "é" });
    expect(JSON.parse(reply.body)).toEqual({ count: 3 });
    const [request] = stub.requests;
    expect([request?.method, request?.path, request?.body]).toEqual(["POST", "/tokenize", '{"prompt":"é"}']);
    expect(request?.headers["authorization"]).toBe(`Basic ${Buffer.from("u:pass").toString("base64")}`);
  });

  it("undo gzip", async () => {
    const headers = ["Content-Encoding: gzip"];
    stub = await startStub(() => [
      { bytes: response([zlib.gzipSync("metrics 1\n")], "length", { headers }) },
    ]);
    expect((await httpGet(stub.url)).body).toBe("metrics 1\n");
  });

  it("fail with a code", async () => {
    stub = await startStub((_request, index) =>
      index === 0 ? [] : [{ bytes: response(["x".repeat(100)], "length") }],
    );
    await expect(httpGet(stub.url, { timeoutMs: 50 })).rejects.toMatchObject({ code: "timeout" });
    await expect(httpGet(stub.url, { maxBytes: 10 })).rejects.toMatchObject({ code: "protocol" });
    await expect(httpGet(stub.url, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: "aborted",
    });
    const { url } = stub;
    await stub.close();
    await expect(httpGet(url)).rejects.toBeInstanceOf(HttpRequestError);
    await expect(httpGet(url)).rejects.toMatchObject({ code: "connect" });
    expect(await ping(url)).toBe(false);
  });
});
