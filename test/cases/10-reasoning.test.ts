import { describe, expect, it } from "vitest";
import { C, DONE, event, FIN, R, U } from "../stub/events.ts";
import { observe, observeChat, tpot } from "../stub/observe.ts";

describe("case 10: reasoning before content", () => {
  it.each([
    ["reasoning_content", (text: string) => ({ reasoning_content: text })],
    ["reasoning", (text: string) => ({ reasoning: text })],
    ["both names with the same text", (text: string) => ({ reasoning: text, reasoning_content: text })],
    ["one name empty", (text: string) => ({ reasoning: text, reasoning_content: "" })],
    ["reasoning_text", (text: string) => ({ reasoning_text: text })],
    ["thinking", (text: string) => ({ thinking: text })],
    ["reasoning_details", (text: string) => ({ reasoning_details: [{ type: "reasoning.text", text }] })],
    [
      "reasoning and reasoning_details with the same text",
      (text: string) => ({ content: "", reasoning: text, reasoning_details: [{ text }] }),
    ],
    ["content null beside it", (text: string) => ({ reasoning_content: text, content: null })],
    [
      "thinking parts",
      (text: string) => ({ content: [{ type: "thinking", thinking: [{ type: "text", text }] }] }),
    ],
  ])("in %s", async (_name, delta) => {
    const seen = await observeChat([
      [200, C(delta("a"))],
      [220, C(delta("b"))],
      [240, C(delta("c"))],
      [900, C({ content: "d" })],
      [920, C({ content: "e" })],
      [921, FIN("stop") + U(5, { completion_tokens_details: { reasoning_tokens: 3 } }) + DONE],
    ]);
    expect([seen.first_token_ms, seen.first_output_ms, seen.output_tokens, seen.reasoning_tokens]).toEqual([
      200, 900, 5, 3,
    ]);
    expect(tpot(seen)).toBe(180);
    expect(seen.text).toBe("de");
  });

  it.each(["reasoning", "reasoning_content"])("in %s of a completion", async (name) => {
    const seen = await observe([
      [200, R("", { [name]: "a" })],
      [900, R("b") + FIN("stop") + U(2) + DONE],
    ]);
    expect([seen.first_token_ms, seen.first_output_ms, seen.text]).toEqual([200, 900, "b"]);
  });

  it("reasoning only is ok, without a first output", async () => {
    const seen = await observeChat([
      [200, C({ reasoning_content: "a" })],
      [220, FIN("length") + U(1) + DONE],
    ]);
    expect([seen.failure, seen.first_token_ms, seen.first_output_ms]).toEqual([null, 200, null]);
  });

  it.each([
    ["in the completion", { completion_tokens: 5, total_tokens: 12 }],
    ["beside it, as the total shows", { completion_tokens: 2, total_tokens: 12 }],
  ])("counted %s, it is output", async (_name, counts) => {
    const told = { prompt_tokens: 7, ...counts, completion_tokens_details: { reasoning_tokens: 3 } };
    const seen = await observeChat([
      [200, C({ reasoning_content: "a" })],
      [920, C({ content: "b" }) + FIN("stop") + event({ choices: [], usage: told }) + DONE],
    ]);
    expect([seen.output_tokens, seen.reasoning_tokens, seen.prompt_tokens]).toEqual([5, 3, 7]);
  });
});
