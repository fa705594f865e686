import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  asyncTokenizer,
  byteLevelJson,
  characterTokenizer,
  mergingTokenizer,
  sentencePieceJson,
  wordPieceJson,
  writeModelFolder,
} from "../../test/prompt/made-tokenizers.ts";
import type { JsonObject } from "../core/json.ts";
import type { LengthPrompt } from "../trace/trace-request.ts";
import { loadBuiltinTokenizer } from "./builtin-tokenizer.ts";
import { createPromptComposer, type PromptComposer } from "./composer.ts";
import { loadLocalTokenizer } from "./local-tokenizer.ts";
import type { Tokenizer } from "./tokenizer.ts";

function length(
  tokens: number,
  hash_ids: readonly (number | string)[] | null = null,
  block = 16,
): LengthPrompt {
  return {
    kind: "length",
    tokens,
    hash_ids,
    block_tokens: hash_ids === null ? null : block,
    hash_scope: null,
  };
}

function textOf(composer: PromptComposer, prompt: LengthPrompt, id = "r", copy = 0): string {
  const made = composer.compose({ prompt, copy }, { request_id: id, job_id: "j" });
  if (made.kind !== "text") throw new Error(`kind ${made.kind}`);
  return made.text;
}

/** A tokenizer, and how its words are known to add up (`null`: they do not, each prompt is searched for). */
const FAMILIES: readonly [string, "vocabulary" | "pairs" | null, () => Tokenizer | Promise<Tokenizer>][] = [
  ["built-in o200k", "vocabulary", loadBuiltinTokenizer],
  ["SentencePiece with a dummy prefix", "vocabulary", () => local(sentencePieceJson())],
  [
    "SentencePiece with tokens across spaces",
    "vocabulary",
    () => local(sentencePieceJson(["▁babade▁bab", "▁gogogo▁mimi", "▁nonono▁"])),
  ],
  [
    "SentencePiece with tokens across many spaces",
    "pairs",
    () => local(sentencePieceJson(Array.from("aeioubdfghklmnr", (letter) => `${letter}▁b`))),
  ],
  ["byte-level BPE", "vocabulary", () => local(byteLevelJson())],
  ["WordPiece", "vocabulary", () => local(wordPieceJson())],
  ["characters", "pairs", () => characterTokenizer],
  [
    "merges of short neighbours",
    "pairs",
    () => mergingTokenizer("short", (a, b) => a.length + b.length < 11),
  ],
  [
    "merges of neighbours of even length together",
    null,
    () => mergingTokenizer("even", (a, b) => (a.length + b.length) % 2 === 0 && a !== b),
  ],
  [
    "merges where one word ends as the next begins",
    "pairs",
    () => mergingTokenizer("ends", (a, b) => a.at(-1) === b[0]),
  ],
  ["merges of all neighbours", null, () => mergingTokenizer("all", () => true)],
  ["a server's", "pairs", () => asyncTokenizer(mergingTokenizer("words", () => false))],
];

function local(json: JsonObject): Tokenizer {
  return loadLocalTokenizer(writeModelFolder(json));
}

describe.each(FAMILIES)("prompts under %s", (_name, proof, make) => {
  const composer = (async () =>
    createPromptComposer({ tokenizer: await make(), promptSeed: null, salt: "s1" }))();

  it(`are made of words known to add up by: ${proof ?? "nothing"}`, async () => {
    expect((await composer).lexicon?.proof ?? null).toBe(proof);
  });

  it("have exactly the length asked for", async () => {
    const c = await composer;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 700 }), fc.string({ minLength: 1 }), async (tokens, id) => {
        expect(await c.tokenizer.count(textOf(c, length(tokens), id))).toBe(tokens);
      }),
      { numRuns: 40 },
    );
  });

  it("have exactly the length asked for with named blocks, whole or cut, and a rest", async () => {
    const c = await composer;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 500 }), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: -15, max: 40 }),
        async (ids, beyond) => {
          const tokens = ids.length * 16 + beyond;
          expect(await c.tokenizer.count(textOf(c, length(tokens, ids)))).toBe(tokens);
        },
      ),
      { numRuns: 30 },
    );
  });

  it("keep the tokens of a block whatever follows it", async () => {
    const c = await composer;
    const shared = [7, 8, 9];
    const one = await c.tokenizer.encode(textOf(c, length(16 * 4 + 3, [...shared, 10]), "a"));
    const two = await c.tokenizer.encode(textOf(c, length(16 * 5, [...shared, 11, 12]), "b"));
    const cut = await c.tokenizer.encode(textOf(c, length(16 * 2 + 5, shared), "c"));
    expect(one.slice(0, 48)).toEqual(two.slice(0, 48));
    expect(cut).toEqual(two.slice(0, 37));
    expect(one[48]).not.toBe(two[48]);
  });
});

describe("made-up prompts", () => {
  const make = async (salt: string, promptSeed: number | null = null) =>
    createPromptComposer({ tokenizer: await loadBuiltinTokenizer(), promptSeed, salt });

  it("differ in every run, unless a seed asks otherwise", async () => {
    const [a, b] = [await make("monday"), await make("tuesday")];
    for (const prompt of [length(40), length(40, [1, 2, 3])])
      expect(textOf(a, prompt)).not.toBe(textOf(b, prompt));
    const [c, d, e] = [await make("monday", 7), await make("tuesday", 7), await make("tuesday", 8)];
    expect(textOf(c, length(40, [1, 2, 3]))).toBe(textOf(d, length(40, [1, 2, 3])));
    expect(textOf(c, length(40))).toBe(textOf(d, length(40)));
    expect(textOf(c, length(40))).not.toBe(textOf(e, length(40)));
  });

  it("of three levels against one warm server share nothing, and no warm-up equals one", async () => {
    const prompts = new Set<string>();
    let made = 0;
    for (const salt of ["level 1", "level 2", "level 3"]) {
      const c = await make(salt);
      for (let i = 0; i < 200; i++, made += 2) {
        prompts.add(textOf(c, length(64), `r${i}`));
        prompts.add(textOf(c, length(64, [i, i + 1000, i + 2000, i + 3000])));
      }
    }
    expect(prompts.size).toBe(made);
    const c = await make("level 1");
    for (const tokens of [1, 2, 64]) {
      const measured = new Set(
        Array.from({ length: 3000 }, (_, i) => [
          textOf(c, length(tokens), `r${i}`),
          textOf(c, length(tokens, [i])),
        ]).flat(),
      );
      for (let i = 0; i < 50; i++) {
        const warm = c.warmup(tokens, i);
        expect(warm.kind === "text" && !measured.has(warm.text)).toBe(true);
        expect(warm.kind === "text" && c.tokenizer.count(warm.text)).toBe(tokens);
      }
    }
  });

  it("tell different blocks apart from the first token on", async () => {
    const c = await make("x");
    const firsts = Array.from({ length: 3000 }, (_, id) => textOf(c, length(1, [id])));
    expect(new Set(firsts).size).toBe(3000);
  });

  it("keep ids beyond 2^53 and scopes apart", async () => {
    const c = await make("x");
    const big = ["9007199254740993", "9007199254740992", "18446744073709551615"];
    expect(new Set(big.map((id) => textOf(c, length(16, [id])))).size).toBe(3);
    const scoped = (hash_scope: string | null) => textOf(c, { ...length(16, [1]), hash_scope });
    expect(new Set([scoped(null), scoped("a"), scoped("b")]).size).toBe(3);
    expect(scoped("a")).toBe(scoped("a"));
  });

  it("differ between copies of a job, and are shared when asked", async () => {
    const c = await make("x");
    expect(textOf(c, length(16, [1]), "r", 0)).not.toBe(textOf(c, length(16, [1]), "r", 1));
    const shared = await createPromptComposer({
      tokenizer: await loadBuiltinTokenizer(),
      promptSeed: null,
      salt: "x",
      shareCopies: true,
    });
    expect(textOf(shared, length(16, [1]), "r", 0)).toBe(textOf(shared, length(16, [1]), "r", 1));
  });

  it("as ids are the tokens of the text", async () => {
    const tokenizer = await loadBuiltinTokenizer();
    const asIds = await createPromptComposer({ tokenizer, promptSeed: 3, salt: "", asIds: true });
    const asText = await createPromptComposer({ tokenizer, promptSeed: 3, salt: "" });
    const prompt = length(75, [4, 5, 6, 7]);
    const ids = asIds.compose({ prompt, copy: 0 }, { request_id: "r", job_id: "j" });
    const encoded = tokenizer.encode(textOf(asText, prompt));
    expect(ids.kind === "ids" && ids.ids.length).toBe(75);
    // The first word has no space in front of it as text.
    expect(ids.kind === "ids" && ids.ids.slice(1)).toEqual(encoded.slice(1));
  });

  it("of recorded text begin differently in each copy, so that none is served from another's cache", async () => {
    const c = await make("x");
    const key = { request_id: "r", job_id: "j" };
    const compose = (copy: number) => c.compose({ prompt: { kind: "text", text: "hello" }, copy }, key);
    expect(compose(0)).toEqual({ kind: "text", text: "hello" });
    const made = [1, 2, 3].map((copy) => compose(copy));
    expect(new Set(made.map((prompt) => prompt.kind === "text" && prompt.text.split(" ")[0])).size).toBe(3);
    expect(made.every((prompt) => prompt.kind === "text" && prompt.text.endsWith("\nhello"))).toBe(true);
    const messages = c.compose(
      {
        prompt: { kind: "messages", messages: [{ role: "system", content: "be kind" }], tools: null },
        copy: 1,
      },
      key,
    );
    expect(messages.kind === "messages" && messages.messages[0]?.["content"]).toMatch(/^\S+ .*\nbe kind$/);
  });
});

describe("a tokenizer that cannot be satisfied", () => {
  it("fails loudly instead of sending a wrong length", async () => {
    // Two tokens a word: odd lengths do not exist.
    const twice: Tokenizer = {
      name: "twice",
      source: "local",
      encode: (text: string) => (text === "" ? [] : text.split(" ").flatMap((word) => [word.length, 1])),
      count: (text: string) => (text === "" ? 0 : text.split(" ").length * 2),
    };
    const c = await createPromptComposer({ tokenizer: twice, promptSeed: null, salt: "x" });
    expect(c.lexicon).toBeNull();
    expect(twice.count(textOf(c, length(40)))).toBe(40);
    expect(() => textOf(c, length(41))).toThrow(/no prompt of exactly 41 tokens/);
  });

  it("is refused before the run where it only answers later", async () => {
    const everything = asyncTokenizer(mergingTokenizer("all", () => true));
    await expect(
      createPromptComposer({ tokenizer: everything, promptSeed: null, salt: "x" }),
    ).rejects.toThrow(/add up/);
  });

  it("is searched where it merges every pair of words", async () => {
    const c = await createPromptComposer({
      tokenizer: mergingTokenizer("all", () => true),
      promptSeed: null,
      salt: "x",
    });
    expect(c.lexicon).toBeNull();
    for (const tokens of [0, 1, 2, 3, 40, 41])
      expect(c.tokenizer.count(textOf(c, length(tokens)))).toBe(tokens);
  });

  it("is told by verify", async () => {
    const c = await createPromptComposer({
      tokenizer: await loadBuiltinTokenizer(),
      promptSeed: null,
      salt: "x",
    });
    const turns = [1, 50].map((tokens) => ({
      prompt: length(tokens),
      copy: 0,
      request_id: `r${tokens}`,
      job_id: "j",
    }));
    expect(await c.verify(turns)).toBeNull();
    const other = await createPromptComposer({
      tokenizer: { ...characterTokenizer, name: "other" },
      lexicon: c.lexicon,
      promptSeed: null,
      salt: "x",
    });
    expect(await other.verify(turns)).toMatch(/r1: 1 tokens were asked for, other counts/);
  });
});
