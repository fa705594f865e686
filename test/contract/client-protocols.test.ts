/** Each protocol beside OpenAI's two: its request, a stream, an answer without streaming, an error, and every cut of the stream. */
import { describe, expect, it } from "vitest";
import type { ModelRequest } from "../../src/client/client.ts";
import type { Protocol } from "../../src/client/protocol.ts";
import { findProtocol, PROTOCOLS, protocolNames } from "../../src/client/protocols/index.ts";
import { event } from "../stub/events.ts";
import { modelRequest, observe, observeSteps, timed } from "../stub/observe.ts";
import { response } from "../stub/wire.ts";
import { type Case, CASES, IDS, line, MESSAGES, meta } from "./protocol-cases.ts";

describe.each(CASES)("$name", (one) => {
  const protocol: Protocol = findProtocol(one.name);
  const type = protocol.framing === "ndjson" ? "application/x-ndjson" : "text/event-stream";
  const options = { protocol, type, request: one.request };

  it("asks", () => {
    expect(protocol.request(modelRequest(one.request))).toMatchObject({ method: "POST", path: one.path });
    expect(protocol.request(modelRequest(one.request)).body).toEqual(one.body);
  });

  it("reads a stream", async () => {
    const seen = await observe(
      one.stream.map((piece, i): [number, string] => [100 + 20 * i, piece]),
      options,
    );
    expect(seen.failure).toBeNull();
    expect(seen).toMatchObject(one.seen);
    expect([seen.first_token_ms, seen.end_ms]).toEqual([100, 100 + 20 * (one.stream.length - 1)]);
  });

  it("reads it however it is cut", async () => {
    const bytes = response(one.stream, "chunked", { type });
    for (let cut = 1; cut < bytes.length; cut++) {
      const seen = await observeSteps(
        [
          { at: 1, bytes: bytes.subarray(0, cut) },
          { at: 2, bytes: bytes.subarray(cut) },
        ],
        options,
      );
      expect({ cut, failure: seen.failure }).toEqual({ cut, failure: null });
      expect(seen).toMatchObject(one.seen);
    }
  });

  it("keeps the message of an error inside a 200", async () => {
    const seen = await observe(
      [
        [10, one.stream[0] as string],
        [20, one.error],
      ],
      options,
    );
    expect(seen.failure).toMatchObject({ code: "server_error", message: "boom" });
  });

  it.skipIf(protocol.endsWithBody === true)("a stream that merely stops is truncated", async () => {
    const seen = await observe([[10, one.stream.slice(0, 2).join("")]], options);
    expect(seen.failure?.code).toBe("truncated");
  });

  it("a body that is cut is truncated", async () => {
    const [first] = timed([[10, one.stream[0] as string]], { type });
    const seen = await observeSteps(
      [
        { at: 10, bytes: Buffer.from(first?.bytes as Buffer).subarray(0, -5) },
        { at: 20, end: "fin" },
      ],
      options,
    );
    expect(seen.failure?.code).toBe("truncated");
  });

  it.runIf(one.plain !== null)("reads an answer without streaming", async () => {
    const { path, body, seen: expected } = one.plain as NonNullable<Case["plain"]>;
    expect(protocol.request(modelRequest({ ...one.request, stream: false })).path).toBe(path);
    const bytes = response([JSON.stringify(body)], "length", { type: "application/json" });
    const seen = await observeSteps([{ at: 50, bytes }], {
      ...options,
      request: { ...one.request, stream: false },
    });
    expect(seen.failure).toBeNull();
    expect(seen).toMatchObject({ ...expected, first_token_ms: null, end_ms: 50 });
  });

  it("another server's answer is no answer", async () => {
    const seen = await observe(
      [[10, protocol.framing === "ndjson" ? line({ hello: 1 }) : event({ hello: 1 })]],
      options,
    );
    expect(["bad_payload", "truncated"]).toContain(seen.failure?.code);
  });
});

describe("sglang with incremental output", () => {
  it.each([
    [
      "told by the ids",
      [
        [{ text: "ha", output_ids: [1] }, 1],
        [{ text: "ha", output_ids: [1] }, 2],
        [{ text: "!", output_ids: [2] }, 3],
      ],
      "haha!",
    ],
    [
      "told by the text",
      [
        [{ text: "a" }, 1],
        [{ text: "b" }, 2],
        [{ text: "c" }, 3],
      ],
      "abc",
    ],
  ] as [string, [object, number][], string][])("%s", async (_name, events, text) => {
    const pieces = events.map(([value, n], i): [number, string] => [
      10 * (i + 1),
      event({ ...value, meta_info: meta(n, i === 2 ? { type: "stop" } : null) }),
    ]);
    const seen = await observe(pieces, { protocol: findProtocol("sglang") });
    expect([seen.failure, seen.text, seen.chunks, seen.output_tokens]).toEqual([null, text, 3, 3]);
  });

  it("an abort is a failure with its reason", async () => {
    const seen = await observe(
      [[10, event({ text: "a", meta_info: meta(1, { type: "abort", message: "queue full" }) })]],
      { protocol: findProtocol("sglang") },
    );
    expect(seen.failure).toMatchObject({ code: "server_error", message: "queue full" });
  });
});

describe("protocols without a stream", () => {
  it.each([
    [
      "openai-embeddings",
      { prompt: IDS },
      { model: "m", input: [5, 6] },
      { object: "list", data: [{ embedding: [0.1] }], usage: { prompt_tokens: 7, total_tokens: 7 } },
    ],
    [
      "rerank",
      { prompt: { kind: "text", text: "q\nd1\nd2" } },
      { model: "m", query: "q", documents: ["d1", "d2"] },
      { results: [{ index: 0, relevance_score: 0.5 }], usage: { total_tokens: 7 } },
    ],
  ] as [string, Partial<ModelRequest>, object, object][])(
    "%s: latency only",
    async (name, request, body, answer) => {
      const protocol = findProtocol(name);
      expect(protocol.request(modelRequest(request)).body).toEqual(body);
      const options = { protocol, request };
      const seen = await observeSteps(
        [{ at: 40, bytes: response([JSON.stringify(answer)], "length", { type: "application/json" }) }],
        options,
      );
      expect(seen).toMatchObject({
        failure: null,
        end_ms: 40,
        first_token_ms: null,
        prompt_tokens: 7,
        output_tokens: null,
        output_tokens_source: "none",
      });
      const wrong = await observeSteps([{ at: 40, bytes: response(['{"choices":[]}'], "length") }], options);
      expect(wrong.failure?.code).toBe("bad_payload");
    },
  );
});

describe("the table of protocols", () => {
  it("knows each name once, and the nearest for a slip", () => {
    const names = protocolNames();
    expect(new Set(names).size).toBe(names.length);
    for (const { protocol, aliases } of PROTOCOLS) {
      for (const name of [protocol.name, ...aliases]) expect(findProtocol(name.toUpperCase())).toBe(protocol);
    }
    expect(() => findProtocol("opnai-chat")).toThrow(/unknown backend "opnai-chat"/);
  });

  it("refuses prompts that cannot be expressed", () => {
    expect(() => findProtocol("openai").request(modelRequest({ prompt: MESSAGES }))).toThrow(
      /not chat messages/,
    );
    expect(() => findProtocol("openai-chat").request(modelRequest({ prompt: IDS }))).toThrow(/not token ids/);
  });

  it("sends an Anthropic key in its own header", () => {
    expect(findProtocol("anthropic").authorization?.("k")).toEqual(["x-api-key", "k"]);
  });
});
