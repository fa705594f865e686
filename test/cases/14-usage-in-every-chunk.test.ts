import { describe, expect, it } from "vitest";
import { DONE, FIN, R, U, usage } from "../stub/events.ts";
import { observe } from "../stub/observe.ts";

const at = (n: number | null): object => ({ usage: n === null ? null : usage(n) });
const chunk = (text: string, n: number | null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, text }], ...at(n) })}\n\n`;

describe("case 14: usage in every chunk", () => {
  it.each([
    [
      "null each time, then a usage chunk",
      ["A", "B", "C", "D"].map((t) => chunk(t, null)).join("") + FIN("stop") + U(4),
      null,
    ],
    ["cumulative", chunk("A", 1) + chunk("B", 2) + chunk("C", 3) + chunk("D", 4) + FIN("stop"), [1, 1, 1, 1]],
    [
      "cumulative with a gap",
      chunk("A", 1) + chunk("B", 2) + R("C") + chunk("D", 4) + FIN("stop"),
      [1, 1, 1, 1],
    ],
    [
      "cumulative with a gap that hides two tokens",
      chunk("A", 1) + R("B") + chunk("C", 4) + FIN("stop"),
      null,
    ],
    ["0 until the end", chunk("A", 0) + chunk("B", 0) + chunk("C", 0) + FIN("stop") + U(4), null],
    ["one behind", chunk("A", 0) + chunk("B", 1) + chunk("C", 2) + FIN("stop") + U(4), null],
    ["only in the last text chunk", R("A") + R("B") + R("C") + chunk("D", 4) + FIN("stop"), null],
  ])("%s", async (_name, body, tokens) => {
    const seen = await observe([[10, body + DONE]]);
    expect([seen.failure, seen.output_tokens, seen.output_tokens_source]).toEqual([null, 4, "server"]);
    expect(seen.chunk_tokens).toEqual(tokens);
  });
});
