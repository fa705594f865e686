import { describe, expect, it } from "vitest";
import { adaptPrompt } from "./adapt-prompt.ts";
import { withLiveHistory } from "./live-history.ts";

describe("adaptPrompt", () => {
  const messages = [
    { role: "system", content: "be kind" },
    {
      role: "user",
      content: [
        { type: "text", text: "look" },
        { type: "image_url", image_url: { url: "x" } },
      ],
    },
    { role: "assistant", content: null, tool_calls: [{ id: "1" }] },
  ];

  it("leaves alone what the protocol takes", () => {
    const prompt = { kind: "ids", ids: [1, 2] } as const;
    expect(adaptPrompt(prompt, ["text", "ids"])).toBe(prompt);
  });

  it("turns text into one user message, messages into paragraphs, ids into text", () => {
    expect(adaptPrompt({ kind: "text", text: "hi" }, ["messages"])).toEqual({
      kind: "messages",
      messages: [{ role: "user", content: "hi" }],
      tools: null,
    });
    expect(adaptPrompt({ kind: "messages", messages, tools: [{ name: "ls" }] }, ["text"])).toEqual({
      kind: "text",
      text: 'tools:\n{"name":"ls"}\n\nsystem: be kind\n\nuser: look\n[image_url]\n\nassistant: {"id":"1"}\n\nassistant:',
    });
    const decode = (ids: readonly number[]) => ids.map((id) => String.fromCharCode(id)).join("");
    expect(adaptPrompt({ kind: "ids", ids: [104, 105] }, ["messages"], { decode })).toMatchObject({
      messages: [{ content: "hi" }],
    });
    expect(adaptPrompt({ kind: "text", text: "ab" }, ["ids"], { encode: (text) => [text.length] })).toEqual({
      kind: "ids",
      ids: [2],
    });
  });

  it("says what is missing", () => {
    expect(() => adaptPrompt({ kind: "ids", ids: [1] }, ["messages"])).toThrow(
      /token ids, which this protocol/,
    );
    expect(() => adaptPrompt({ kind: "text", text: "a" }, ["ids"])).toThrow(/takes token ids only/);
  });
});

describe("withLiveHistory", () => {
  const history = [
    { role: "user", content: "q1" },
    { role: "assistant", content: "recorded 1", reasoning_content: "hm", tool_calls: [{ id: "t" }] },
    { role: "tool", tool_call_id: "t", content: "r" },
    { role: "assistant", content: "recorded 2" },
    { role: "user", content: "q2" },
  ];

  it("puts live answers where the recorded ones stood, by position or by text", () => {
    const { messages, replaced } = withLiveHistory(history, [
      { recorded: null, position: 1, text: "live 1" },
      { recorded: "recorded 2", position: null, text: "live 2" },
      { recorded: "never said", position: 4, text: "nowhere" },
    ]);
    expect(replaced).toBe(2);
    expect(messages.map((message) => message.content)).toEqual(["q1", "live 1", "r", "live 2", "q2"]);
    expect(messages[1]).toEqual({ role: "assistant", content: "live 1", tool_calls: [{ id: "t" }] });
    expect(history[1]?.content).toBe("recorded 1");
  });
});
