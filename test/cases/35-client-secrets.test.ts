import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { readApiKey } from "../../src/client/api-key.ts";
import { redactedJson } from "../../src/record/redacted-json.ts";
import { DONE, event, FIN, R } from "../stub/events.ts";
import { send, stubClient } from "../stub/send.ts";
import { type StubServer, startStub } from "../stub/stub-server.ts";
import { response } from "../stub/wire.ts";

const KEY = "sk-CANARY-0123456789";
let stub: StubServer;
afterEach(() => stub.close());

/** A server that echoes the key wherever it can. */
async function echoing(): Promise<void> {
  stub = await startStub((request, index) => {
    const echo = `bad key ${request.headers["authorization"]} ${request.headers["x-api-key"]} ${KEY}`;
    const headers = [`Location: http://other/?key=${KEY}`];
    switch (index) {
      case 0:
        return [
          {
            bytes: response([JSON.stringify({ error: { message: echo } })], "length", {
              status: "401 X",
              headers,
            }),
          },
        ];
      case 1:
        return [
          {
            bytes: response([`${"x".repeat(480)}${KEY}`], "length", { status: "500 X", type: "text/plain" }),
          },
        ];
      case 2:
        return [{ bytes: response([event({ error: { message: echo } })]) }];
      case 3:
        return [{ bytes: response([R(KEY) + FIN("stop") + DONE]) }];
      case 4:
        return [{ bytes: response([`data: nonsense ${KEY}\n\n`]) }];
      default:
        return [{ bytes: response([""], "length", { status: "302 X", headers }) }];
    }
  });
}

describe("case 35: a secret goes into the request header and nowhere else", () => {
  it.each([
    [
      "the environment",
      (url: string) => stubClient(url, { apiKey: readApiKey({}, { OPENAI_API_KEY: KEY }) }),
      `Bearer ${KEY}`,
    ],
    [
      "a header",
      (url: string) => stubClient(url, { headers: { Authorization: `Bearer ${KEY}` } }),
      `Bearer ${KEY}`,
    ],
    [
      "the URL",
      (url: string) => stubClient(url.replace("//", `//user:${KEY}@`)),
      `Basic ${Buffer.from(`user:${KEY}`).toString("base64")}`,
    ],
  ])("by %s", async (_name, make, authorization) => {
    await echoing();
    const client = make(stub.url);
    const seen = [];
    for (let i = 0; i < 6; i++) seen.push(await send(client));
    expect(stub.requests.map((request) => request.headers["authorization"])).toEqual(
      Array(6).fill(authorization),
    );
    const written = JSON.stringify([seen, client.name, client.endpoint.display]);
    expect(written).not.toContain("CANARY");
    expect(written).not.toContain(Buffer.from(`user:${KEY}`).toString("base64"));
    expect(seen.map((one) => one.failure?.code ?? "ok")).toEqual([
      "http_4xx",
      "http_5xx",
      "server_error",
      "ok",
      "bad_payload",
      "http_3xx",
    ]);
    await client.close();
  });

  it.each([
    ["in the query", { endpoint: `/v1/completions?api_key=${encodeURIComponent(KEY)}` }],
    ["in the body", { extraBody: { gateway: { api_key: KEY } } }],
  ])("%s", async (_name, options) => {
    await echoing();
    const client = stubClient(stub.url, options);
    const seen = [];
    for (let i = 0; i < 6; i++) seen.push(await send(client));
    expect(stub.requests[0]?.path + String(stub.requests[0]?.body)).toContain(KEY);
    // What the manifest would hold.
    expect(redactedJson([seen, options, client.endpoint])).not.toContain("CANARY");
    await client.close();
  });

  it.each(["sk-CAN******6789", "sk-CANARY***", "sk-CANARY-0...6789", "`sk-CANARY-01…`"])(
    "masked by the server: %s",
    async (masked) => {
      const body = JSON.stringify({ error: { message: `Incorrect API key provided: ${masked}.` } });
      stub = await startStub(() => [{ bytes: response([body], "length", { status: "401 X" }) }]);
      const client = stubClient(stub.url, { apiKey: KEY });
      const { failure } = await send(client);
      expect(failure?.message).toContain("Incorrect API key provided: ");
      expect(failure?.message).not.toContain("sk-CAN");
      await client.close();
    },
  );

  it("by a file", async () => {
    const folder = mkdtempSync(join(tmpdir(), "reprise-key-"));
    try {
      writeFileSync(join(folder, "key"), `\n${KEY}\n`);
      expect(readApiKey({ file: join(folder, "key") })).toBe(KEY);
      writeFileSync(join(folder, "empty"), "\n");
      expect(() => readApiKey({ file: join(folder, "empty") })).toThrow(/is empty/);
      expect(() => readApiKey({ file: join(folder, "none") })).toThrow(/cannot read/);
      expect(() => readApiKey({ envName: "NO_SUCH" }, {})).toThrow(/NO_SUCH is not set/);
      expect(readApiKey({}, {})).toBeNull();
    } finally {
      rmSync(folder, { recursive: true });
    }
    await echoing();
  });
});
