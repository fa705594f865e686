import { afterEach, describe, expect, it } from "vitest";
import { openaiChat } from "../../src/client/protocols/openai-chat.ts";
import { C, DONE, FIN } from "../stub/events.ts";
import { send, stubClient } from "../stub/send.ts";
import { type StubServer, startStub } from "../stub/stub-server.ts";
import { response } from "../stub/wire.ts";

let stub: StubServer;
afterEach(() => stub.close());

describe("case 36: the base URL in any form", () => {
  it.each(["", "/", "/v1", "/v1/", "/v1/chat/completions"])(
    "http://h:p%s -> one POST to /v1/chat/completions",
    async (suffix) => {
      stub = await startStub(() => [{ bytes: response([C({ content: "A" }) + FIN("stop") + DONE]) }]);
      const before = { ...process.env };
      // A proxy at a dead port: the target is reached all the same.
      Object.assign(process.env, {
        HTTP_PROXY: "http://127.0.0.1:9",
        http_proxy: "http://127.0.0.1:9",
        ALL_PROXY: "http://127.0.0.1:9",
      });
      try {
        const client = stubClient(stub.url + suffix, { protocol: openaiChat });
        expect((await send(client)).failure).toBeNull();
        await client.close();
      } finally {
        process.env = before;
      }
      expect(stub.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
        "POST /v1/chat/completions",
      ]);
      expect(stub.requests[0]?.headers).not.toHaveProperty("authorization");
    },
  );
});
