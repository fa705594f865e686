import { describe, expect, it } from "vitest";
import { DONE, event, FIN, R, U, usage } from "../stub/events.ts";
import { observe } from "../stub/observe.ts";

const details = { prompt_tokens_details: { cached_tokens: 3 } };

describe("case 13: where usage lives", () => {
  it.each([
    ["in its own chunk, choices []", R("A") + R("B") + FIN("stop") + U(2, details)],
    [
      "beside an empty delta",
      R("A") + R("B") + FIN("stop") + event({ choices: [{ delta: {} }], usage: usage(2, details) }),
    ],
    [
      "in the last text chunk",
      R("A") + event({ choices: [{ index: 0, text: "B", finish_reason: "stop" }], usage: usage(2, details) }),
    ],
    [
      "in the finish chunk",
      R("A") +
        R("B") +
        event({ choices: [{ index: 0, text: "", finish_reason: "stop" }], usage: usage(2, details) }),
    ],
    ["without choices", R("A") + R("B") + FIN("stop") + event({ usage: usage(2, details) })],
    ["choices null", R("A") + R("B") + FIN("stop") + event({ choices: null, usage: usage(2, details) })],
    [
      "in x_groq",
      R("A") + R("B") + FIN("stop") + event({ choices: [], x_groq: { usage: usage(2, details) } }),
    ],
    [
      "under the newer names",
      R("A") +
        R("B") +
        FIN("stop") +
        event({ choices: [], usage: { input_tokens: 7, output_tokens: 2, ...details } }),
    ],
    [
      "with zeros behind it",
      R("A") +
        R("B") +
        FIN("stop") +
        U(2, details) +
        event({ choices: [], usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } }),
    ],
    ["before the finish", R("A") + R("B") + U(2, details) + FIN("stop")],
  ])("%s", async (_name, body) => {
    const seen = await observe([[10, body + DONE]]);
    expect([seen.failure, seen.text, seen.prompt_tokens, seen.output_tokens, seen.cached_tokens]).toEqual([
      null,
      "AB",
      7,
      2,
      3,
    ]);
    expect([seen.prompt_tokens_source, seen.output_tokens_source]).toEqual(["server", "server"]);
  });

  it.each([[null], ["7"], [2.5], [-1], [1e300], [[]]])("a count of %j is none", async (count) => {
    const told = { prompt_tokens: count, completion_tokens: count };
    const seen = await observe([[10, R("A") + FIN("stop") + event({ choices: [], usage: told }) + DONE]]);
    expect([seen.failure, seen.prompt_tokens, seen.prompt_tokens_source]).toEqual([null, null, "none"]);
    expect([seen.output_tokens, seen.output_tokens_source]).toEqual([1, "chunks"]);
  });

  it("0 tokens in an answer that has some are no count", async () => {
    const none = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    const seen = await observe([
      [
        10,
        R("A", { more: 1 }) + event({ choices: [{ index: 0, text: "B" }], usage: none }) + FIN("stop") + DONE,
      ],
    ]);
    expect([seen.output_tokens, seen.output_tokens_source]).toEqual([2, "chunks"]);
    expect([seen.prompt_tokens, seen.prompt_tokens_source]).toEqual([null, "none"]);
  });

  it("more cached tokens than the prompt has are no count", async () => {
    const seen = await observe([
      [10, R("A") + FIN("stop") + U(1, { prompt_tokens_details: { cached_tokens: 8 } }) + DONE],
    ]);
    expect([seen.prompt_tokens, seen.cached_tokens]).toEqual([7, null]);
    expect(seen.notes.join()).toContain("not taken");
  });

  it("absent: payload chunks, and said so", async () => {
    const seen = await observe([[10, R("A") + R("B") + FIN("stop") + DONE]]);
    expect([seen.output_tokens, seen.output_tokens_source]).toEqual([2, "chunks"]);
    expect([seen.prompt_tokens, seen.prompt_tokens_source, seen.cached_tokens]).toEqual([null, "none", null]);
  });
});
