/** The transports that are loaded on demand, in the command line as it is shipped. */
import { afterEach, expect, it } from "vitest";
import { cli, traceFile } from "../cli/run-cli.ts";
import { type ConnectProxy, startConnectProxy } from "../stub/connect-proxy.ts";
import { DONE, FIN, R, U } from "../stub/events.ts";
import { type StubServer, startStub } from "../stub/stub-server.ts";
import { response } from "../stub/wire.ts";

let stub: StubServer;
let proxy: ConnectProxy;
afterEach(async () => {
  await proxy.close();
  await stub.close();
});

it("--http2 and --proxy send", async () => {
  stub = await startStub(() => [{ bytes: response([R("A"), R("B"), FIN("stop"), U(2), DONE]) }]);
  proxy = await startConnectProxy();
  const trace = traceFile([{ request_id: "r", job_id: "j", arrival_ms: 0, prompt: "hi", max_tokens: 2 }]);
  const words = ["replay", trace, "--base-url", stub.url, "--model", "m", "--backend", "openai", "--json"];
  for (const more of [["--http2"], ["--proxy", proxy.url], ["--http2", "--proxy", proxy.url]]) {
    const { code, stdout, stderr } = await cli([...words, ...more]);
    expect([code, stderr.includes("TypeError")]).toEqual([0, false]);
    expect(JSON.parse(stdout)).toMatchObject({ counts: { sent: 1, ok: 1 } });
  }
  expect([stub.requests.length, proxy.heads.length]).toEqual([3, 2]);
});
