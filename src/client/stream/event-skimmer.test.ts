import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ResponseObserver } from "../response-observer.ts";
import type { Observation } from "../../record/observation.ts";
import type { Protocol } from "../protocol.ts";
import { findProtocol } from "../protocols/index.ts";
import { EventSkimmer } from "./event-skimmer.ts";

function observe(protocol: Protocol, body: Buffer, parseAll: boolean): Observation {
  const observation = {
    first_token_ms: null,
    first_output_ms: null,
    last_token_ms: null,
    chunks: 0,
    finish_reason: null,
    engine: null,
    notes: [],
    prompt_tokens: null,
    output_tokens: null,
    cached_tokens: null,
    reasoning_tokens: null,
    http_status: 200,
  } as unknown as Observation;
  const observer = new ResponseObserver(
    { protocol, keepText: true, keepChunks: true, listener: null, parseAll },
    observation,
  );
  observer.head("text/event-stream");
  for (let at = 0; at < body.length; at += 37) {
    if (observer.body(body, at, Math.min(at + 37, body.length), at)) break;
  }
  observer.end(body.length);
  return observer.result(body.length, null);
}

/** String contents as bytes of the document: escapes good and bad, quotes that break out, other fields, half characters. */
const raw = fc.oneof(
  fc.string({ maxLength: 6 }).map((text) => JSON.stringify(text).slice(1, -1)),
  fc.string({ unit: "binary", maxLength: 4 }).map((text) => JSON.stringify(text).slice(1, -1)),
  fc.constantFrom(
    "",
    " a",
    "\\u00e9",
    "\\ud83c\\udf0d",
    "\\u12",
    "\\x",
    "\\",
    "\\\\",
    '\\"',
    '"',
    '","finish_reason":"stop',
    '"},"finish_reason":"stop","x":{"y":"',
    "\u0001",
    "你",
    '","text":"z',
    "[DONE]",
  ),
);
const shapes: Record<string, ((text: string) => string)[]> = {
  openai: [
    (text) =>
      `{"id":"c","choices":[{"index":0,"text":"${text}","logprobs":null,"finish_reason":null}],"usage":null}`,
    (text) => `{"id":"c","choices":[{"index":0,"text":"${text}","finish_reason":""}]}`,
    (text) => `{"text":"a","choices":[{"index":0,"text":"${text}"}]}`,
    (text) => `{"choices":[{"index":1,"text":"${text}"}]}`,
    (text) => `{"choices":[{"index":0,"text":"a","token_ids":[1]}],"x":"${text}"}`,
    (text) => `{"choices":[{"index":0,"text":"a"}],"usage":{"completion_tokens":3},"x":"${text}"}`,
    (text) => `{"choices":[{"index":0,"text":"${text}","finish_reason":"stop"}]}`,
    () => "[DONE]",
  ],
  "openai-chat": [
    (text) =>
      `{"id": "c", "choices": [{"index": 0, "delta": {"content": "${text}"}, "finish_reason": null}]}`,
    (text) =>
      `{"choices":[{"delta":{"role":"assistant","content":"${text}","reasoning_content":null,"tool_calls":[]}}]}`,
    (text) => `{"choices":[{"delta":{"reasoning_content":"${text}","content":""}}]}`,
    (text) => `{"choices":[{"delta":{"reasoning":"${text}","reasoning_content":"${text}"}}]}`,
    (text) => `{"choices":[{"delta":{"content":"${text}","refusal":"no"}}]}`,
    (text) => `{"choices":[{"delta":{"content":"a"}}],"error":"${text}"}`,
    (text) => `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"${text}"}}]}}]}`,
    () => "[DONE]",
  ],
};

describe("EventSkimmer", () => {
  it.each(Object.keys(shapes))("changes nothing: %s", (name) => {
    const protocol = findProtocol(name);
    const forms = shapes[name] as ((text: string) => string)[];
    // Runs of one shape, so that shapes are learned, and single events of any.
    const run = fc.tuple(fc.nat(forms.length - 1), fc.array(raw, { minLength: 1, maxLength: 12 }));
    fc.assert(
      fc.property(fc.array(run, { minLength: 1, maxLength: 5 }), (runs) => {
        const events = runs.flatMap(([form, texts]) =>
          texts.map((text) => (forms[form] as (text: string) => string)(text)),
        );
        const body = Buffer.from(events.map((data) => `data: ${data}\n\n`).join(""));
        expect(observe(protocol, body, false)).toEqual(observe(protocol, body, true));
      }),
      { numRuns: 1000 },
    );
  });

  it("does skim: most events of an ordinary stream are not parsed", () => {
    let parsed = 0;
    const openai = findProtocol("openai");
    const protocol: Protocol = {
      ...openai,
      reader: () => {
        const reader = openai.reader();
        return {
          event: (name, data) => (parsed++, reader.event(name, data)),
          body: (text) => reader.body(text),
        };
      },
    };
    const [shape] = shapes["openai"] as [(text: string) => string];
    const event = (text: string): string => `data: ${shape(text)}\n\n`;
    const body = Buffer.from(`${event(" token").repeat(500)}${event("\\n\\u00e9")}data: [DONE]\n\n`);
    const seen = observe(protocol, body, false);
    expect([seen.failure, seen.chunks, seen.text?.slice(-8)]).toEqual([null, 501, " token\né"]);
    expect(parsed).toBeLessThan(12);
  });

  it("gives up where every event differs elsewhere", () => {
    const skimmer = new EventSkimmer(() => findProtocol("openai").reader());
    let parsed = 0;
    for (let i = 0; i < 100; i++) {
      const bytes = Buffer.from(`{"choices":[{"index":0,"text":"a"}],"n":${i}}`);
      if (skimmer.matches(bytes, 0, bytes.length)) continue;
      parsed++;
      const delta = findProtocol("openai").reader().event("message", bytes.toString());
      if (delta !== null) skimmer.learn(bytes, 0, bytes.length, delta);
    }
    expect(parsed).toBe(100);
  });
});
