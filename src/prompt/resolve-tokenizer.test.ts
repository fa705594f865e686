import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { byteLevelJson, sentencePieceJson, writeModelFolder } from "../../test/prompt/made-tokenizers.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { createPromptComposer } from "./composer.ts";
import { loadLocalTokenizer } from "./local-tokenizer.ts";
import { resolveTokenizer } from "./resolve-tokenizer.ts";
import type { PostJson } from "./server-tokenizer.ts";

const served = loadLocalTokenizer(writeModelFolder(byteLevelJson()));

/** Stub servers, one for each dialect: a word-wise answer with the served vocabulary. */
function stub(read: (body: JsonObject) => string | null, answer: (ids: number[]) => JsonValue): PostJson {
  return (path, body) => {
    const text = path === "/tokenize" ? read(body) : null;
    return Promise.resolve(text === null ? null : answer([...served.encode(text)]));
  };
}

const string = (value: unknown): string | null => (typeof value === "string" ? value : null);

describe("the server's tokenizer", () => {
  it.each<[string, PostJson, number | null]>([
    [
      "vLLM",
      stub(
        (b) => string(b["prompt"]),
        (tokens) => ({ tokens, count: tokens.length, max_model_len: 1 }),
      ),
      0,
    ],
    [
      "vLLM with BOS unless told otherwise",
      stub(
        (b) => (b["add_special_tokens"] === false ? "" : ".") + (string(b["prompt"]) ?? ""),
        (tokens) => ({ tokens, count: tokens.length }),
      ),
      1,
    ],
    // llama.cpp reads `content` and answers an empty list to a body without it.
    [
      "llama.cpp",
      stub(
        (b) => string(b["content"]) ?? "",
        (tokens) => ({ tokens }),
      ),
      0,
    ],
    [
      "TGI, which always adds BOS",
      stub(
        (b) => string(b["inputs"]),
        (ids) => [1, ...ids].map((id) => ({ id, text: "", start: 0, stop: 0 })),
      ),
      1,
    ],
  ])("is understood: %s", async (_name, post, overhead) => {
    const { tokenizer, warning } = await resolveTokenizer({ model: "m", post });
    expect(warning).toBeNull();
    expect(tokenizer.source).toBe("server");
    expect(await tokenizer.encode("bababa babade")).toEqual(served.encode("bababa babade"));
    expect(await tokenizer.count("")).toBe(0);
    expect(tokenizer.overhead_tokens).toBe(overhead);
  });

  it("makes exact prompts", async () => {
    const post = stub(
      (b) => string(b["prompt"]),
      (tokens) => ({ tokens, count: tokens.length }),
    );
    // This vocabulary has none of the words that a lexicon is sought in: its letters are taken.
    const { tokenizer } = await resolveTokenizer({ model: "m", post });
    const composer = await createPromptComposer({ tokenizer, promptSeed: 1, salt: "" });
    const prompt = composer.compose(
      {
        prompt: { kind: "length", tokens: 333, hash_ids: null, block_tokens: null, hash_scope: null },
        copy: 0,
      },
      { request_id: "r", job_id: "j" },
    );
    expect(prompt.kind === "text" && served.count(prompt.text)).toBe(333);
  });

  it("gives way to the built-in one with a warning where there is none", async () => {
    for (const post of [
      null,
      () => Promise.resolve(null),
      () => Promise.reject(new Error("ECONNREFUSED")),
      () => Promise.resolve("<html>" as JsonValue),
    ]) {
      const { tokenizer, warning } = await resolveTokenizer({ model: "m", post });
      expect(tokenizer.source).toBe("builtin");
      expect(warning).toMatch(/built-in/);
    }
  });
});

describe("a local tokenizer", () => {
  it("comes from a file, a folder, or a model named by its folder", async () => {
    const folder = writeModelFolder(sentencePieceJson());
    for (const options of [
      { model: "m", tokenizerPath: folder },
      { model: "m", tokenizerPath: join(folder, "tokenizer.json") },
      { model: folder },
    ]) {
      const { tokenizer, warning } = await resolveTokenizer(options);
      expect(warning).toBeNull();
      expect(tokenizer.source).toBe("local");
      // One token, without the BOS that this model adds; that is told apart.
      expect(tokenizer.count("bababa")).toBe(1);
      expect(tokenizer.overhead_tokens).toBe(1);
      expect(tokenizer.decode?.(await tokenizer.encode("bababa babade"))).toMatch(/bababa babade/);
    }
  });

  it("wins over the server's", async () => {
    const post: PostJson = () => Promise.reject(new Error("must not be asked"));
    const folder = writeModelFolder(sentencePieceJson());
    expect((await resolveTokenizer({ model: "m", tokenizerPath: folder, post })).tokenizer.source).toBe(
      "local",
    );
  });

  it("that is not there is a usage error, a model's name is not", async () => {
    await expect(resolveTokenizer({ model: "m", tokenizerPath: "/no/such/tokenizer.json" })).rejects.toThrow(
      /no such/,
    );
    const empty = mkdtempSync(join(tmpdir(), "reprise-empty-"));
    await expect(resolveTokenizer({ model: "m", tokenizerPath: empty })).rejects.toThrow(
      /no tokenizer.json there/,
    );
    const broken = join(empty, "broken.json");
    for (const text of ["{", "{}", '{"model": {"type": "Odd", "vocab": {}}}']) {
      writeFileSync(broken, text);
      await expect(resolveTokenizer({ model: "m", tokenizerPath: broken })).rejects.toThrow(/broken\.json: /);
    }
    const { warning } = await resolveTokenizer({ model: "m", tokenizerPath: "org/not-here" });
    expect(warning).toMatch(/org\/not-here is not on this machine/);
  });

  describe("in the cache of an earlier download", () => {
    const before = process.env["HF_HUB_CACHE"];
    afterEach(() => {
      if (before === undefined) delete process.env["HF_HUB_CACHE"];
      else process.env["HF_HUB_CACHE"] = before;
    });

    it("is found by the model's name", async () => {
      const hub = mkdtempSync(join(tmpdir(), "reprise-hub-"));
      const snapshot = join(hub, "models--org--tiny", "snapshots", "abc");
      mkdirSync(snapshot, { recursive: true });
      writeFileSync(join(snapshot, "tokenizer.json"), JSON.stringify(sentencePieceJson()));
      process.env["HF_HUB_CACHE"] = hub;
      expect((await resolveTokenizer({ model: "org/tiny" })).tokenizer.source).toBe("local");
      expect((await resolveTokenizer({ model: "m", tokenizerPath: "org/tiny" })).warning).toBeNull();
    });

    it("is, of several downloads, the one that the main branch points to", async () => {
      const hub = mkdtempSync(join(tmpdir(), "reprise-hub-"));
      const folder = join(hub, "models--org--tiny");
      for (const commit of ["aaa", "bbb", "ccc"]) {
        mkdirSync(join(folder, "snapshots", commit), { recursive: true });
        writeFileSync(
          join(folder, "snapshots", commit, "tokenizer.json"),
          JSON.stringify(sentencePieceJson()),
        );
      }
      mkdirSync(join(folder, "refs"));
      writeFileSync(join(folder, "refs", "main"), "bbb");
      process.env["HF_HUB_CACHE"] = hub;
      expect((await resolveTokenizer({ model: "org/tiny" })).tokenizer.name).toContain("bbb");
    });
  });
});
