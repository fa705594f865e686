import { describe, expect, it } from "vitest";
import { createRng } from "../core/random.ts";
import { renderChat } from "./chat-template.ts";
import { digestPrompt } from "./prompt-digest.ts";
import { PromptDigester } from "./prompt-digester.ts";
import { encode } from "./tokenizer.ts";

/** Pieces whose cut depends on what follows: letters, digits, runs of spaces, halves of a pair. */
const PIECES = [
  "a",
  "Bc",
  "XYZ",
  " ",
  "  ",
  "            ",
  "\n",
  "12",
  "--",
  "你",
  "🌍",
  "\ud83c",
  " the file",
  "…",
];

describe("the digester", () => {
  it("gives what encoding the whole text gives, whatever text it knows already", () => {
    const rng = createRng("digester");
    const digester = new PromptDigester(4);
    const texts: string[] = [""];
    for (let round = 0; round < 400; round++) {
      // Continues, or leaves somewhere, one of the texts before.
      const base = rng.pick(texts);
      let text = rng.uniform() < 0.7 ? base : base.slice(0, rng.integer(0, base.length));
      for (let i = rng.integer(1, text === "" ? 3000 : 60); i > 0; i--) text += rng.pick(PIECES);
      texts.push(text);
      const salt = rng.uniform() < 0.1 ? "s" : null;
      const expected = digestPrompt(encode(text), 4, salt);
      expect(digester.digest(text, false, salt)).toEqual(expected);
    }
  });

  it("does so for rendered chats, and tells special tokens from the same characters in content", () => {
    const digester = new PromptDigester(16);
    const messages: { role: string; content: string }[] = [];
    for (let i = 0; i < 40; i++) {
      messages.push({
        role: i % 2 === 0 ? "user" : "assistant",
        content: `turn ${i} ${"and so on ".repeat(30)}`,
      });
      const chat = renderChat(messages, null);
      expect(digester.digest(chat, true)).toEqual(digestPrompt(encode(chat, true), 16));
    }
    const special = String.fromCharCode(0xfdd3);
    expect(renderChat([{ role: "user", content: special }], null)).toBe(
      renderChat([{ role: "user", content: "\ufffd" }], null),
    );
  });
});
