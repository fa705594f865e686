/** Small tokenizers for tests: real `tokenizer.json` documents of three families, and some that are out to spoil sums. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "../../src/core/json.ts";
import type { SyncTokenizer, Tokenizer } from "../../src/prompt/tokenizer.ts";

/** 1,000 words of three syllables. */
export const WORDS: readonly string[] = (() => {
  const syllables = ["ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "ru"];
  return syllables.flatMap((a) => syllables.flatMap((b) => syllables.map((c) => a + b + c)));
})();

/** Vocabulary and left-to-right merges that make each of `pieces` one token. */
function bpe(pieces: readonly string[], letters: Iterable<string>): { vocab: JsonObject; merges: string[] } {
  const vocab: Record<string, number> = {};
  const merges: string[] = [];
  const add = (piece: string): void => {
    vocab[piece] ??= Object.keys(vocab).length;
  };
  for (const special of ["<unk>", "<s>", "</s>"]) add(special);
  for (const letter of letters) add(letter);
  for (const piece of pieces) {
    for (let end = 2; end <= piece.length; end++) {
      if (vocab[piece.slice(0, end)] === undefined)
        merges.push(`${piece.slice(0, end - 1)} ${piece[end - 1]}`);
      add(piece.slice(0, end));
    }
  }
  return { vocab, merges };
}

const LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,:\n";
const ADDED = ["<unk>", "<s>", "</s>"].map((content, id) => ({
  id,
  content,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
  special: true,
}));
const BOS = {
  type: "TemplateProcessing",
  single: [{ SpecialToken: { id: "<s>", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }],
  pair: [],
  special_tokens: { "<s>": { id: "<s>", ids: [1], tokens: ["<s>"] } },
};

/** As Llama 2's: a dummy space in front, one BPE over the whole text, BOS. `extra` pieces may reach across spaces. */
export function sentencePieceJson(extra: readonly string[] = []): JsonObject {
  const { vocab, merges } = bpe([...WORDS.map((word) => `▁${word}`), ...extra], `▁${LETTERS}`);
  return {
    version: "1.0",
    added_tokens: ADDED,
    normalizer: {
      type: "Sequence",
      normalizers: [
        { type: "Prepend", prepend: "▁" },
        { type: "Replace", pattern: { String: " " }, content: "▁" },
      ],
    },
    pre_tokenizer: null,
    post_processor: BOS,
    decoder: {
      type: "Sequence",
      decoders: [{ type: "Replace", pattern: { String: "▁" }, content: " " }, { type: "Fuse" }],
    },
    model: { type: "BPE", unk_token: "<unk>", fuse_unk: true, vocab, merges },
  };
}

/** As GPT-2's: bytes as letters, cut before spaces; words exist with and without the space. */
export function byteLevelJson(): JsonObject {
  const { vocab, merges } = bpe([...WORDS.map((word) => `Ġ${word}`), ...WORDS.slice(0, 500)], `Ġ${LETTERS}Ċ`);
  return {
    version: "1.0",
    added_tokens: ADDED,
    normalizer: null,
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true },
    post_processor: null,
    decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: { type: "BPE", unk_token: null, vocab, merges },
  };
}

/** As BERT's: words cut at white space, [CLS] and [SEP] around. */
export function wordPieceJson(): JsonObject {
  const vocab: Record<string, number> = {};
  for (const piece of [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    ...WORDS,
    ..."abcdefghijklmnopqrstuvwxyz".split(""),
  ])
    vocab[piece] = Object.keys(vocab).length;
  return {
    version: "1.0",
    added_tokens: [],
    normalizer: {
      type: "BertNormalizer",
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: null,
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab,
    },
  };
}

/** Writes a model folder and returns its path. */
export function writeModelFolder(json: JsonObject): string {
  const folder = mkdtempSync(join(tmpdir(), "reprise-tokenizer-"));
  writeFileSync(join(folder, "tokenizer.json"), JSON.stringify(json));
  return folder;
}

/** Words are tokens; `merge` says whether two neighbours become one token (left to right). */
export function mergingTokenizer(
  name: string,
  merge: (left: string, right: string) => boolean,
): SyncTokenizer {
  const ids = new Map<string, number>();
  const id = (piece: string): number => {
    if (!ids.has(piece)) ids.set(piece, ids.size + 1);
    return ids.get(piece) as number;
  };
  const encode = (text: string): number[] => {
    if (text === "") return [];
    const words = text.split(" ");
    const out: number[] = [];
    for (let at = 0; at < words.length; at++) {
      const [left, right] = [words[at] as string, words[at + 1]];
      if (right !== undefined && merge(left, right)) {
        out.push(id(`${left} ${right}`));
        at++;
      } else out.push(id(left));
    }
    return out;
  };
  return { name, source: "local", encode, count: (text) => encode(text).length };
}

/** Every character is a token, the space too. */
export const characterTokenizer: SyncTokenizer = {
  name: "characters",
  source: "local",
  encode: (text) => Array.from(text, (char) => char.codePointAt(0) as number),
  count: (text) => Array.from(text).length,
};

/** The same tokenizer behind a promise, as a server's is. */
export function asyncTokenizer(inner: SyncTokenizer): Tokenizer & { calls: number } {
  const tokenizer = {
    name: `${inner.name} (async)`,
    source: "server" as const,
    calls: 0,
    encode: async (text: string) => {
      tokenizer.calls++;
      return inner.encode(text);
    },
    count: async (text: string) => inner.count(text),
  };
  return tokenizer;
}
