import { describe, expect, it } from "vitest";
import { sentencePieceJson, WORDS, writeModelFolder } from "../../test/prompt/made-tokenizers.ts";
import { createPromptComposer } from "./composer.ts";
import { loadLocalTokenizer } from "./local-tokenizer.ts";

describe("the words of a vocabulary", () => {
  it("leave out those that a token joins to the next word", async () => {
    // One token for three words, one that takes the space behind a word, one that takes the end of any word in "ru".
    const joined = "▁bababa▁babade▁babafi";
    const tokenizer = loadLocalTokenizer(writeModelFolder(sentencePieceJson([joined, "▁gogogo▁", "ru▁b"])));
    const words = tokenizer.vocabulary?.words ?? [];
    expect(tokenizer.vocabulary?.closed).toBe(true);
    for (const gone of ["bababa", "babade", "gogogo", "fiminoru"]) expect(words).not.toContain(gone);
    expect(words).toContain("babafi");
    expect(words.filter((word) => word.endsWith("ru"))).toEqual([]);
    const composer = await createPromptComposer({ tokenizer, promptSeed: null, salt: "s" });
    expect(composer.lexicon?.proof).toBe("vocabulary");
    const turns = [1, 2, 500, 3000].map((tokens) => ({
      prompt: { kind: "length", tokens, hash_ids: null, block_tokens: null, hash_scope: null } as const,
      copy: 0,
      request_id: `r${tokens}`,
      job_id: "j",
    }));
    expect(await composer.verify(turns)).toBeNull();
  });

  it("are kept, and tried in pairs, where too few would be left", () => {
    const everywhere = Array.from("abcdefghijklmnopqrstuvwxyz", (letter) => `${letter}▁`);
    const { vocabulary } = loadLocalTokenizer(writeModelFolder(sentencePieceJson(everywhere)));
    expect(vocabulary?.closed).toBe(false);
    expect(vocabulary?.words).toEqual(expect.arrayContaining([...WORDS]));
  });
});
