import { describe, expect, it } from "vitest";
import { C, DONE, FIN, R, U, usage } from "../stub/events.ts";
import { gaps, observe, observeChat, tpot } from "../stub/observe.ts";

const chunk = (text: string, n: number): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, text }], usage: usage(n) })}\n\n`;

describe("case 15: several tokens a chunk", () => {
  it("from cumulative usage", async () => {
    const seen = await observe([
      [100, chunk("A", 1)],
      [140, chunk("BCDE", 5)],
      [180, chunk("FGHI", 9) + FIN("stop") + DONE],
    ]);
    expect([seen.output_tokens, seen.chunk_tokens, gaps(seen), tpot(seen)]).toEqual([
      9,
      [1, 4, 4],
      [40, 40],
      10,
    ]);
  });

  it("from token ids, where a chunk without text carries a token that belongs to the next", async () => {
    const seen = await observe([
      [100, R("A", { token_ids: [5] })],
      [120, R("", { token_ids: [6] })],
      [140, R("é", { token_ids: [7, 8] })],
      [150, R("", { token_ids: [9], finish_reason: "stop" }) + DONE],
    ]);
    expect([seen.chunk_tokens, seen.output_tokens, seen.output_tokens_source]).toEqual([[1, 3], 5, "server"]);
  });

  it("from token ids inside the delta", async () => {
    const delta = (content: string, ids: number[] | null): string =>
      C({ content, completion_token_ids: ids });
    const seen = await observeChat([
      [90, C({ role: "assistant", content: "", completion_token_ids: null })],
      [100, delta("A", [1])],
      [140, delta("BC", [2, 3]) + FIN("stop") + DONE],
    ]);
    expect([seen.chunk_tokens, seen.output_tokens, tpot(seen)]).toEqual([[1, 2], 3, 20]);
  });

  it("from log probabilities; the server's own count wins", async () => {
    const seen = await observe([
      [100, R("AB", { logprobs: { tokens: ["A", "B"] } })],
      [140, R("C", { logprobs: { tokens: ["C"] } }) + FIN("stop") + U(4) + DONE],
    ]);
    expect([seen.chunk_tokens, seen.output_tokens]).toEqual([[2, 1], 4]);
  });

  it("lists of ids that the server leaves empty tell nothing", async () => {
    const seen = await observe([
      [100, R("A", { token_ids: [] })],
      [140, R("B", { token_ids: [] }) + FIN("stop") + DONE],
    ]);
    expect([seen.chunk_tokens, seen.output_tokens, seen.output_tokens_source]).toEqual([null, 2, "chunks"]);
  });

  it("Python's NaN and Infinity among log probabilities are no nonsense; in a text they are text", async () => {
    const body = (text: string): string =>
      `data: {"choices":[{"index":0,"text":"${text}","logprobs":{"tokens":["A"],"token_logprobs":[NaN,-Infinity]}}]}\n\n`;
    const seen = await observe([[100, body('NaN, \\"-Infinity') + FIN("stop") + DONE]]);
    expect([seen.failure, seen.text, seen.chunk_tokens]).toEqual([null, 'NaN, "-Infinity', [1]]);
    const broken = await observe([[100, `${R("A")}data: {"choices":[NaN\n\n${DONE}`]]);
    expect(broken.failure?.code).toBe("bad_payload");
  });
});
