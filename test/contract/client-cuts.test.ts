/** Every way of cutting a response gives the same observation: each single cut, byte by byte, and random cuts. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openaiChat } from "../../src/client/protocols/openai-chat.ts";
import { openai } from "../../src/client/protocols/openai.ts";
import type { Observation } from "../../src/record/observation.ts";
import { C, DONE, event, FIN, R, U, usage } from "../stub/events.ts";
import { observeSteps, type ObserveOptions } from "../stub/observe.ts";
import { chunk, head, LAST_CHUNK, response } from "../stub/wire.ts";

const chat: ObserveOptions = { protocol: openaiChat };
const text: ObserveOptions = { protocol: openai };
const tool = (args: string, more: object = {}): string =>
  C({ tool_calls: [{ index: 0, ...more, function: { arguments: args } }] });

const STREAMS: [name: string, bytes: Buffer, options: ObserveOptions][] = [
  ["text, one event a chunk", response([R("你"), R("🌍"), FIN("stop"), U(2), DONE]), text],
  [
    "events across chunks",
    response([R("A").slice(0, 9), R("A").slice(9) + R("B"), FIN("stop") + DONE]),
    text,
  ],
  [
    "CRLF, comments, named events",
    response([
      `: hi\r\nevent: message\r\ndata: ${JSON.stringify({ choices: [{ index: 0, text: "é" }] })}\r\n\r\n`,
      "event: ping\r\ndata:\r\n\r\n",
      FIN("stop"),
      DONE,
    ]),
    text,
  ],
  ["a BOM, and a length", response([`\ufeff${R("A")}${FIN("stop")}${DONE}`], "length"), text],
  ["close-delimited, [DONE] without newline", response([R("A"), "data: [DONE]"], "close"), text],
  [
    "chunk extensions and trailers",
    Buffer.concat([
      Buffer.from(head("chunked")),
      chunk(R("A") + FIN("stop"), ";sig=abc"),
      Buffer.from("0;x\r\nX-Sum: 1\r\n\r\n"),
    ]),
    text,
  ],
  [
    "an interim response",
    Buffer.concat([Buffer.from("HTTP/1.1 100 Continue\r\n\r\n"), response([R("A"), FIN("stop"), DONE])]),
    text,
  ],
  [
    "role, reasoning, content",
    response([
      C({ role: "assistant", content: "" }),
      C({ reasoning_content: "思" }),
      C({ content: "é" }),
      FIN("stop"),
      U(2),
    ]),
    chat,
  ],
  [
    "a tool call",
    response([tool("", { id: "c" }), tool('{"a":'), tool("1}"), FIN("tool_calls"), U(9), DONE]),
    chat,
  ],
  [
    "cumulative usage",
    response([
      event({ choices: [{ index: 0, text: "A" }], usage: usage(1) }),
      event({ choices: [{ index: 0, text: "B" }], usage: usage(5) }),
      FIN("length"),
      DONE,
    ]),
    text,
  ],
  ["an error after a token", response([R("A"), event({ error: { message: "no 🌍" } }), DONE]), text],
  ["truncated", response([R("A"), R("B")]), text],
  [
    "cut inside an event",
    Buffer.concat([Buffer.from(head("chunked")), chunk(R("A") + 'data: {"cho'), Buffer.from(LAST_CHUNK)]),
    text,
  ],
  [
    "plain JSON",
    response(
      [
        JSON.stringify({
          choices: [{ index: 0, message: { content: "é" }, finish_reason: "stop" }],
          usage: usage(5),
        }),
      ],
      "length",
      { type: "application/json" },
    ),
    chat,
  ],
  [
    "an error status",
    response([JSON.stringify({ error: { message: "overloaded 🌍" } })], "length", {
      status: "503 Service Unavailable",
      type: "application/json",
    }),
    chat,
  ],
  [
    "a redirect",
    response([], "length", { status: "307 Temporary Redirect", headers: ["Location: http://other/"] }),
    chat,
  ],
  ["not HTTP", Buffer.from("SSH-2.0-OpenSSH\r\nmore\r\n"), chat],
];

/** What does not depend on when a byte came; of bytes that are no HTTP the message shows as many as were there. */
function facts(seen: Observation): object {
  const {
    failure,
    text,
    chunks,
    chunk_tokens,
    prompt_tokens,
    output_tokens,
    finish_reason,
    tool_calls,
    http_status,
    notes,
  } = seen;
  return {
    failure: failure?.code === "protocol" ? failure.code : failure,
    text,
    chunks,
    chunk_tokens,
    prompt_tokens,
    output_tokens,
    finish_reason,
    tool_calls,
    http_status,
    notes,
  };
}

async function observeCut(bytes: Buffer, cuts: readonly number[], options: ObserveOptions): Promise<object> {
  const steps = [];
  let from = 0;
  for (const to of [...new Set([...cuts.filter((cut) => cut > 0 && cut < bytes.length), bytes.length])].sort(
    (a, b) => a - b,
  )) {
    steps.push({ at: steps.length, bytes: bytes.subarray(from, to) });
    from = to;
  }
  return facts(await observeSteps([...steps, { at: steps.length + 1, end: "fin" }], options));
}

describe("every cut of", () => {
  it.each(STREAMS)("%s", async (_name, bytes, options) => {
    const whole = await observeCut(bytes, [], options);
    for (let cut = 1; cut < bytes.length; cut++) {
      expect({ cut, ...(await observeCut(bytes, [cut], options)) }).toEqual({ cut, ...whole });
    }
    const all = Array.from({ length: bytes.length }, (_, i) => i);
    expect(await observeCut(bytes, all, options)).toEqual(whole);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 20 }), async (cuts) => {
        expect(await observeCut(bytes, cuts, options)).toEqual(whole);
      }),
      { numRuns: 25 },
    );
  });
});
