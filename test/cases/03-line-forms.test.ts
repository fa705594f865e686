import { describe, expect, it } from "vitest";
import { observe } from "../stub/observe.ts";

const json = (text: string): string => `{"choices":[{"index":0,"text":"${text}"}]}`;
const done = "data: [DONE]\n\n";

describe("case 3: legal line forms", () => {
  it.each([
    ["no space after the colon", `data:${json("A")}\n\ndata:${json("B")}\n\ndata:[DONE]\n\n`],
    [
      "event, id and retry first",
      `event: message\nid: 7\nretry: 10\ndata: ${json("A")}\n\nid\ndata: ${json("B")}\n\n${done}`,
    ],
    ["fields after the data", `data: ${json("A")}\nid: 7\n\ndata: ${json("B")}\nevent: message\n\n${done}`],
    ["CRLF", `data: ${json("A")}\r\n\r\ndata: ${json("B")}\r\n\r\ndata: [DONE]\r\n\r\n`],
    ["CR", `data: ${json("A")}\r\rdata: ${json("B")}\r\rdata: [DONE]\r\r`],
    ["mixed line ends", `data: ${json("A")}\r\n\ndata: ${json("B")}\n\rdata: [DONE]\r\n\r\n`],
    [
      "one event on two data lines",
      `data: {"choices":\ndata: [{"index":0,"text":"A"}]}\n\ndata: ${json("B")}\n\n${done}`,
    ],
    ["a BOM", `\ufeffdata: ${json("A")}\n\ndata: ${json("B")}\n\n${done}`],
    ["blank lines in between", `\n\n\ndata: ${json("A")}\n\n\n\ndata: ${json("B")}\n\n\n${done}`],
    ["two spaces after the colon", `data:  ${json("A")}\n\ndata:  ${json("B")} \n\ndata:  [DONE]\n\n`],
    ["unknown fields", `foo: bar\ndataX: no\ndata: ${json("A")}\n\nfoo\ndata: ${json("B")}\n\n${done}`],
  ])("%s", async (_name, body) => {
    const bytes = Buffer.from(body);
    // As one piece, and byte by byte.
    for (const size of [bytes.length, 1, 3]) {
      const pieces: [number, Buffer][] = [];
      for (let at = 0; at < bytes.length; at += size) pieces.push([10, bytes.subarray(at, at + size)]);
      const seen = await observe(pieces);
      expect([size, seen.failure, seen.text, seen.chunks]).toEqual([size, null, "AB", 2]);
    }
  });
});
