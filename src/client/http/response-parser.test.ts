import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ResponseParser } from "./response-parser.ts";

interface Parsed {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly error: string | null;
  readonly complete: boolean;
  readonly reusable: boolean;
  readonly left: number;
}

function parse(text: string, cuts: readonly number[] = [], close = false): Parsed {
  const bytes = Buffer.from(text, "latin1");
  let status = 0;
  let headers: Record<string, string> = {};
  let body = "";
  const parser = new ResponseParser({
    head: (code, list) => {
      status = code;
      headers = Object.fromEntries(list);
    },
    body: (piece, start, end) => {
      body += piece.toString("latin1", start, end);
    },
  });
  let from = 0;
  let left = bytes.length;
  for (const cut of [...new Set([...cuts.filter((one) => one < bytes.length), bytes.length])].sort(
    (a, b) => a - b,
  )) {
    const shared = Buffer.alloc(cut - from + 16, "\n");
    bytes.copy(shared, 8, from, cut);
    const taken = parser.push(shared, 8, 8 + cut - from) - 8;
    if (taken < cut - from) {
      left = bytes.length - from - taken;
      break;
    }
    left = bytes.length - cut;
    from = cut;
  }
  if (close) parser.close();
  return {
    status,
    headers,
    body,
    error: parser.error,
    complete: parser.complete,
    reusable: parser.reusable,
    left,
  };
}

const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

describe("ResponseParser", () => {
  it.each([
    ["a length", `${OK}Content-Length: 5\r\n\r\nhello`, "hello"],
    ["repeated equal lengths", `${OK}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`, "hello"],
    ["no body at length 0", `${OK}Content-Length: 0\r\n\r\n`, ""],
    ["204 without a length", "HTTP/1.1 204 No Content\r\n\r\n", ""],
    ["chunks", `${CHUNKED}3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n`, "hello"],
    ["chunk extensions", `${CHUNKED}3;a=b;c="d;e"\r\nhel\r\n2 ; x\r\nlo\r\n0;last\r\n\r\n`, "hello"],
    ["leading zeros and capitals", `${CHUNKED}000000000000000000A\r\n0123456789\r\n00\r\n\r\n`, "0123456789"],
    ["trailers", `${CHUNKED}5\r\nhello\r\n0\r\nX-Time: 5\r\nY: 6\r\n\r\n`, "hello"],
    ["bare LF in the head", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", "hello"],
    ["no reason phrase", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello", "hello"],
    [
      "an interim response first",
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${OK}Content-Length: 5\r\n\r\nhello`,
      "hello",
    ],
    ["an empty line first", `\r\n${OK}Content-Length: 5\r\n\r\nhello`, "hello"],
    ["a folded header", `${OK}X: a\r\n b\r\nContent-Length: 5\r\n\r\nhello`, "hello"],
    ["body bytes that look like chunks", `${CHUNKED}7\r\n0\r\n\r\n0\r\r\n0\r\n\r\n`, "0\r\n\r\n0\r"],
  ])("reads %s, cut anywhere", (_name, text, body) => {
    const whole = parse(text);
    expect([whole.error, whole.body, whole.complete, whole.left]).toEqual([null, body, true, 0]);
    for (let cut = 1; cut < text.length; cut++) expect(parse(text, [cut])).toEqual(whole);
    expect(
      parse(
        text,
        Array.from({ length: text.length }, (_, i) => i),
      ),
    ).toEqual(whole);
  });

  it.each([
    ["not HTTP", "SSH-2.0-OpenSSH_9\r\n"],
    ["garbage without a line end", "\u0015\u0003\u0001garbage"],
    ["HTTP/2", "HTTP/2 200\r\n\r\n"],
    ["a bad status", "HTTP/1.1 20x OK\r\n\r\n"],
    ["a status below 100", "HTTP/1.1 099 No\r\n\r\n"],
    ["a header without a colon", `${OK}nonsense\r\n\r\n`],
    ["space before the colon", `${OK}Content-Length : 5\r\n\r\nhello`],
    ["a fold before any header", `${OK} x\r\n\r\n`],
    ["two lengths", `${OK}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`],
    ["a negative length", `${OK}Content-Length: -1\r\n\r\n`],
    ["a length that is no number", `${OK}Content-Length: 0x5\r\n\r\nhello`],
    ["an unasked 101", "HTTP/1.1 101 Switching Protocols\r\n\r\n"],
    ["chunked that is not last", `${OK}Transfer-Encoding: chunked, gzip\r\n\r\n5\r\nhello\r\n0\r\n\r\n`],
    ["chunked twice", `${OK}Transfer-Encoding: chunked, chunked\r\n\r\n`],
    ["a coding that is not undone", `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`],
    ["a chunk size that is no number", `${CHUNKED}xyz\r\nhello\r\n`],
    ["an empty chunk size", `${CHUNKED}\r\nhello\r\n`],
    ["a negative chunk size", `${CHUNKED}-5\r\nhello\r\n`],
    ["a chunk size line with a bare LF", `${CHUNKED}5\nhello\r\n`],
    ["chunk data longer than said", `${CHUNKED}5\r\nhello!\r\n0\r\n\r\n`],
    ["an enormous chunk size", `${CHUNKED}fffffffffffffff\r\n`],
    ["a bad trailer", `${CHUNKED}0\r\nnonsense\r\n\r\n`],
    ["a head without end", `${OK}X: ${"y".repeat(300 * 1024)}`],
  ])("refuses %s, cut anywhere", (_name, text) => {
    expect(parse(text).error).not.toBeNull();
    for (let cut = 1; cut < Math.min(text.length, 200); cut++)
      expect(parse(text, [cut]).error).not.toBeNull();
  });

  it("ends a body without framing where the connection closes", () => {
    const seen = parse(`${OK}\r\nhello`, [20], true);
    expect([seen.body, seen.complete, seen.reusable]).toEqual(["hello", true, false]);
  });

  it.each([
    ["HTTP/1.1", `${OK}Content-Length: 0\r\n\r\n`, true],
    ["HTTP/1.1 close", `${OK}Connection: Close\r\nContent-Length: 0\r\n\r\n`, false],
    ["HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false],
    ["HTTP/1.0 keep-alive", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n", true],
    ["both framings", `${OK}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, false],
  ])("tells whether the connection may be used again: %s", (_name, text, reusable) => {
    expect(parse(text).reusable).toBe(reusable);
  });

  it("leaves bytes after the response alone", () => {
    expect(parse(`${OK}Content-Length: 2\r\n\r\nhiHTTP/1.1`).left).toBe(8);
  });

  it("reads any chunking of any body, cut anywhere", () => {
    const pieces = fc.array(fc.string({ unit: "binary-ascii", minLength: 1, maxLength: 40 }), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(pieces, fc.array(fc.nat(600), { maxLength: 20 }), (parts, cuts) => {
        const chunks = parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join("");
        const seen = parse(`${CHUNKED}${chunks}0\r\n\r\n`, cuts);
        expect([seen.error, seen.body, seen.complete, seen.left]).toEqual([null, parts.join(""), true, 0]);
      }),
      { numRuns: 300 },
    );
  });
});
