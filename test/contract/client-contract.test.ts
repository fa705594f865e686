/** The contract suite on every client there is. */
import { RealClock } from "../../src/core/real-clock.ts";
import { VirtualClock } from "../../src/core/virtual-clock.ts";
import type { HttpClientOptions } from "../../src/client/http-client.ts";
import { openaiChat } from "../../src/client/protocols/openai-chat.ts";
import { createSimClient, createSimEngine, startSimServer } from "../../src/sim/index.ts";
import { startConnectProxy } from "../stub/connect-proxy.ts";
import { C, DONE, FIN, R, U, usage } from "../stub/events.ts";
import { stubClient } from "../stub/send.ts";
import { type StubRequest, type StubStep, startStub } from "../stub/stub-server.ts";
import { chunk, head, LAST_CHUNK, response } from "../stub/wire.ts";
import { type ClientHarness, describeClientContract } from "./client-contract.ts";

/** A server of the contract, written by hand: `max_tokens` tokens, 3 ms apart. */
function answer(request: StubRequest): StubStep[] {
  const { max_tokens, stream, messages } = JSON.parse(request.body) as {
    max_tokens: number;
    stream: boolean;
    messages?: object;
  };
  const chat = messages !== undefined;
  if (max_tokens < 1) {
    const refusal = JSON.stringify({ error: { message: "max_tokens must be at least 1" } });
    return [
      { bytes: response([refusal], "length", { status: "400 Bad Request", type: "application/json" }) },
    ];
  }
  if (!stream) {
    const choice = { index: 0, text: "x", message: { content: "x" }, finish_reason: "length" };
    const body = JSON.stringify({ choices: [choice], usage: usage(max_tokens) });
    return [{ at: 5, bytes: response([body], "length", { type: "application/json" }) }];
  }
  const tokens = Array.from({ length: max_tokens }, (_, i) => ({
    at: 3 * (i + 1),
    bytes: chunk(chat ? C({ content: "x" }) : R("x")),
  }));
  return [
    { bytes: head("chunked") },
    ...tokens,
    {
      bytes: Buffer.concat([
        chunk(FIN("length")),
        chunk(U(max_tokens)),
        chunk(DONE),
        Buffer.from(LAST_CHUNK),
      ]),
    },
  ];
}

async function overStub(options: Partial<HttpClientOptions>, proxied = false): Promise<ClientHarness> {
  const stub = await startStub(answer);
  const proxy = proxied ? await startConnectProxy() : null;
  const clock = new RealClock();
  const client = stubClient(stub.url, { clock, proxy: proxy?.url ?? null, ...options });
  return {
    client,
    clock,
    model: "m",
    until: (promise) => promise,
    dispose: async () => {
      await client.close();
      await proxy?.close();
      await stub.close();
    },
  };
}

const SIM = {
  model: "qwen2.5-0.5b",
  gpu: "l4",
  linear_step: { base_ms: 2, prefill_token_ms: 0.1, decode_seq_ms: 0.1 },
} as const;
const SIM_MODEL = "sim/qwen2.5-0.5b-l4";

describeClientContract("HTTP/1.1, completions", () => overStub({}));
describeClientContract("HTTP/1.1, chat", () => overStub({ protocol: openaiChat }));
describeClientContract("through a proxy, completions", () => overStub({}, true));

describeClientContract("HTTP/1.1 against the simulator's server", async () => {
  const clock = new RealClock();
  const server = await startSimServer({ config: SIM, host: "127.0.0.1", port: 0, clock, seed: 1 });
  const client = stubClient(server.url, { clock });
  return {
    client,
    clock,
    model: SIM_MODEL,
    until: (promise) => promise,
    dispose: async () => {
      await client.close();
      await server.close();
    },
  };
});

describeClientContract("the simulator in process, on virtual time", async () => {
  const clock = new VirtualClock(500);
  const client = createSimClient(createSimEngine(SIM, clock, 1), clock);
  return {
    client,
    clock,
    model: SIM_MODEL,
    until: (promise) => clock.runUntil(promise),
    dispose: () => client.close(),
  };
});
