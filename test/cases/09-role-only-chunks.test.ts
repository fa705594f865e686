import { describe, expect, it } from "vitest";
import { C, DONE, FIN, U } from "../stub/events.ts";
import { gaps, observeChat } from "../stub/observe.ts";

describe("case 9: role-only and empty first chunks", () => {
  it("do not count as a token", async () => {
    const seen = await observeChat([
      [5, C({ role: "assistant", content: "" })],
      [6, C({ content: null })],
      [400, C({ content: "Hi" })],
      [420, C({ content: " you" })],
      [421, FIN("stop") + U(2) + DONE],
    ]);
    expect([seen.first_token_ms, seen.first_byte_ms, gaps(seen), seen.text]).toEqual([
      400,
      5,
      [20],
      "Hi you",
    ]);
    expect([seen.output_tokens, seen.prompt_tokens, seen.output_tokens_source]).toEqual([2, 7, "server"]);
  });

  it("also when every chunk has a role and an empty finish_reason", async () => {
    const more = { finish_reason: "" };
    const seen = await observeChat([
      [5, C({ role: "assistant", content: "", tool_calls: [], reasoning_content: "" }, more)],
      [6, C({ role: "assistant", content: null }, more)],
      [400, C({ role: "assistant", content: "Hi" }, more)],
      [420, C({ role: "assistant", content: " you" }, more)],
      [421, FIN("stop") + U(2) + DONE],
    ]);
    expect([seen.failure, seen.first_token_ms, gaps(seen)]).toEqual([null, 400, [20]]);
  });
});
