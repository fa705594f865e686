/** A tokenizer from a `tokenizer.json`, or from the model folder that holds one. Nothing is ever downloaded. */
import { Tokenizer as FileTokenizer } from "@huggingface/tokenizers";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { UserError } from "../core/failure.ts";
import type { JsonObject } from "../core/json.ts";
import { MAX_WORDS } from "./builtin-tokenizer.ts";
import type { SyncTokenizer, VocabularyFacts } from "./tokenizer.ts";

/** Fewer words than this that cannot merge: then it is tried which pairs do (lexicon.ts). */
const MIN_APART = 512;

/**
 * Where `name` has a `tokenizer.json`: a file, a folder, or a model that an earlier download left in the Hugging Face
 * cache of this machine. `null` = nowhere here.
 */
export function findTokenizerFile(name: string): string | null {
  if (existsSync(name)) {
    if (!statSync(name).isDirectory()) return name;
    const inside = join(name, "tokenizer.json");
    return existsSync(inside) ? inside : null;
  }
  return /^[\w.-]+\/[\w.-]+$/.test(name) ? findInCache(name) : null;
}

function findInCache(model: string): string | null {
  const home = process.env["HF_HOME"] ?? join(homedir(), ".cache", "huggingface");
  const hub = process.env["HF_HUB_CACHE"] ?? join(home, "hub");
  const folder = join(hub, `models--${model.replaceAll("/", "--")}`);
  const snapshots = join(folder, "snapshots");
  if (!existsSync(snapshots)) return null;
  // Of several downloads the one that the main branch pointed to last: it is what a server loads.
  const main = join(folder, "refs", "main");
  const current = existsSync(main) ? readFileSync(main, "utf8").trim() : "";
  for (const snapshot of [current, ...readdirSync(snapshots).sort()].filter((name) => name !== "")) {
    const file = join(snapshots, snapshot, "tokenizer.json");
    if (existsSync(file)) return file;
  }
  return null;
}

/** Loads a `tokenizer.json` (or the folder of one). A file that is none is a {@link UserError}. */
export function loadLocalTokenizer(path: string): SyncTokenizer {
  const file = findTokenizerFile(path);
  if (file === null) {
    throw new UserError(`${path}: no tokenizer.json there`, {
      hint: "name a tokenizer.json, or a model folder that holds one",
    });
  }
  const json = readJson(file);
  const model = json["model"];
  if (typeof model !== "object" || model === null || Array.isArray(model) || !("vocab" in model)) {
    throw new UserError(`${file}: not a tokenizer.json (no model.vocab)`, {
      hint: "name the tokenizer.json of a Hugging Face model folder",
    });
  }
  const configFile = join(dirname(file), "tokenizer_config.json");
  const config = existsSync(configFile) ? readJson(configFile) : {};
  let inner: FileTokenizer;
  try {
    inner = new FileTokenizer(json, config);
  } catch (error) {
    throw new UserError(`${file}: ${(error as Error).message}`, {
      hint: "the file is damaged, or of a kind that is not known yet",
      cause: error,
    });
  }
  const encode = (text: string): readonly number[] =>
    text === "" ? [] : inner.encode(text, { add_special_tokens: false }).ids;
  return {
    name: basename(file) === "tokenizer.json" ? dirname(file) : file,
    source: "local",
    encode,
    decode: (ids) => (ids.length === 0 ? "" : inner.decode([...ids], { skip_special_tokens: false })),
    count: (text) => encode(text).length,
    overhead_tokens: inner.encode("a").ids.length - encode("a").length,
    vocabulary: readVocabulary(inner.get_vocab(true)),
  };
}

/**
 * Looks at every token once: which are words, and which reach across a space. Words that end as such a token begins are left
 * out: of the others none can merge with the word behind it, whatever that is.
 */
function readVocabulary(vocab: ReadonlyMap<string, number>): VocabularyFacts {
  // "Ġ" stands for a space in byte-level vocabularies, "▁" in SentencePiece's; WordPiece words carry no mark.
  const mark = vocab.has("Ġthe") ? "Ġ" : hasMark(vocab, "▁") ? "▁" : hasMark(vocab, "Ġ") ? "Ġ" : "";
  const word = new RegExp(`^${mark}[a-z]{3,9}$`);
  const across = new RegExp(`([a-z]+)(?=[${mark} ])`, "g");
  const found: { word: string; id: number }[] = [];
  const endings = new Set<string>();
  for (const [piece, id] of vocab) {
    for (const match of piece.matchAll(across)) endings.add(match[1] as string);
    if (word.test(piece)) found.push({ word: piece.slice(mark.length), id });
  }
  // Ids follow the order of merges: low ids are frequent words.
  const words = found.sort((a, b) => a.id - b.id).map((entry) => entry.word);
  const apart = endings.size === 0 ? words : words.filter((text) => !endsWithOneOf(text, endings));
  const closed = endings.size === 0 || apart.length >= MIN_APART;
  return { words: (closed ? apart : words).slice(0, MAX_WORDS), closed };
}

function endsWithOneOf(word: string, endings: ReadonlySet<string>): boolean {
  for (let at = 0; at < word.length; at++) if (endings.has(word.slice(at))) return true;
  return false;
}

function hasMark(vocab: ReadonlyMap<string, number>, mark: string): boolean {
  for (const piece of vocab.keys()) if (piece.length > 2 && piece.startsWith(mark)) return true;
  return false;
}

function readJson(file: string): JsonObject {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as JsonObject;
  } catch (error) {
    throw new UserError(`${file}: not JSON (${(error as Error).message})`, { cause: error });
  }
}
