import { createParser } from "eventsource-parser";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SseSplitter } from "./sse-splitter.ts";

function split(body: Buffer, cuts: readonly number[]): [string, string][] {
  const events: [string, string][] = [];
  const splitter = new SseSplitter({
    event: (name, bytes, start, end, whole) => {
      if (whole) events.push([name, bytes.toString("utf8", start, end)]);
    },
  });
  const shared = Buffer.alloc(body.length + 32, "\n\r");
  let from = 0;
  for (const cut of [...new Set([...cuts, body.length])].sort((a, b) => a - b)) {
    body.copy(shared, 0, from, cut);
    splitter.push(shared, 0, cut - from);
    shared.fill("\r\n");
    from = cut;
  }
  splitter.end();
  return events;
}

function oracle(body: string): [string, string][] {
  const events: [string, string][] = [];
  const parser = createParser({
    onEvent: (event) => {
      // What the standard calls an event with empty data means nothing in any protocol here.
      if (event.data !== "") events.push([event.event ?? "message", event.data]);
    },
  });
  parser.feed(body);
  return events;
}

const part = fc.constantFrom(
  "data: x",
  "data:y",
  "data",
  "data:",
  "data:  z",
  "event: e",
  "event:",
  "event",
  "id: 1",
  "retry: 5",
  ": c",
  ":",
  "dat",
  "datax: 1",
  "eve: q",
  'data: {"a":"é🌍"}',
  "",
  "",
  "",
);
const lineEnd = fc.constantFrom("\n", "\n", "\r\n", "\r");
const body = fc
  .tuple(fc.boolean(), fc.array(fc.tuple(part, lineEnd), { maxLength: 30 }))
  .map(([bom, lines]) => (bom ? "\ufeff" : "") + lines.map(([text, end]) => text + end).join(""));

describe("SseSplitter", () => {
  it("gives the same events as an independent parser, however the bytes are cut", () => {
    fc.assert(
      fc.property(body, fc.array(fc.nat(300), { maxLength: 12 }), (text, cuts) => {
        const bytes = Buffer.from(text);
        const all = Array.from({ length: bytes.length }, (_, i) => i);
        // A lone CR at the very end: the oracle waits for what follows, the standard does not.
        const complete = text.endsWith("\r") ? `${text}: end\n` : text;
        // The oracle takes text, from which a decoder has already taken the BOM.
        const expected = oracle(complete.replace(/^\ufeff/, ""));
        const whole = Buffer.from(complete);
        expect(split(whole, [])).toEqual(expected);
        expect(
          split(
            whole,
            cuts.filter((cut) => cut < whole.length),
          ),
        ).toEqual(expected);
        expect(split(whole, all)).toEqual(expected);
      }),
      { numRuns: 400 },
    );
  });

  it("hands on [DONE] at once, without its line end", () => {
    const events: string[] = [];
    const splitter = new SseSplitter({
      event: (_name, bytes, start, end) => events.push(bytes.toString("utf8", start, end)),
    });
    for (const byte of Buffer.from("data: a\n\ndata: [DONE]")) splitter.push(Buffer.from([byte]), 0, 1);
    expect(events).toEqual(["a", "[DONE]"]);
    splitter.push(Buffer.from("\n\n"), 0, 2);
    splitter.end();
    expect(events).toEqual(["a", "[DONE]"]);
  });

  it("hands on what is pending when the body ends", () => {
    const events: [string, boolean][] = [];
    const splitter = new SseSplitter({
      event: (_name, bytes, start, end, whole) => events.push([bytes.toString("utf8", start, end), whole]),
    });
    const bytes = Buffer.from("data: a\n\ndata: b\ndata: [DONE");
    splitter.push(bytes, 0, bytes.length);
    splitter.end();
    expect(events).toEqual([
      ["a", true],
      ["b\n[DONE", false],
    ]);
  });
});
