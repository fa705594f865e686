/**
 * Planned turns become prompts that can be sent. Text, messages and ids go as they were recorded; named prefix blocks and
 * bare lengths are written with the lexicon's words, to the exact token. See docs/prompts.md.
 */
import type { ModelPrompt } from "../client/client.ts";
import { UserError } from "../core/failure.ts";
import { createRng } from "../core/random.ts";
import type { Tokens } from "../core/units.ts";
import type { BlockId, LengthPrompt, TracePrompt } from "../trace/trace-request.ts";
import { BlockStreams } from "./block-streams.ts";
import { loadBuiltinTokenizer } from "./builtin-tokenizer.ts";
import { tagCopy } from "./copy-tag.ts";
import { Filler, type StreamName } from "./filler.ts";
import { deriveKeyFromText, pickAt, type HashKey } from "./keyed-hash.ts";
import { buildLexicon, type Lexicon } from "./lexicon.ts";
import { searchText } from "./search-text.ts";
import { isSyncTokenizer, type SyncTokenizer, type Tokenizer } from "./tokenizer.ts";

/** The part of a planned turn that a prompt is made from. */
export interface ComposableTurn {
  readonly prompt: TracePrompt;
  /** Text of different copies differs; 0 is the original. */
  readonly copy: number;
  /** So many leading blocks (or messages) are the original's all the same. */
  readonly common?: number;
}

export interface PromptKey {
  /** Unique in the run: text that nothing else shares is made from it. */
  readonly request_id: string;
  readonly job_id: string;
}

export interface PromptComposerOptions {
  readonly tokenizer: Tokenizer;
  /** `--prompt-seed`: the same text in every run; `null` = made from `salt`. */
  readonly promptSeed: number | null;
  /** Differs in every run and is the same on all lanes of one. */
  readonly salt: string;
  /** Made-up prompts as token ids: for protocols that take them. */
  readonly asIds?: boolean;
  /** Copies of a job share what the original shares. */
  readonly shareCopies?: boolean;
  /** Found before, perhaps on another thread; else it is built here. */
  readonly lexicon?: Lexicon | null;
}

export interface PromptComposer {
  readonly tokenizer: Tokenizer;
  /** `null`: words do not add up under this tokenizer, each prompt is searched for. */
  readonly lexicon: Lexicon | null;
  /** A prompt of exactly the planned length. Synchronous; throws a `UserError` where the length cannot be met. */
  compose(turn: ComposableTurn, key: PromptKey): ModelPrompt;
  /** A prompt of `tokens` tokens that equals no composed one; each `index` its own. */
  warmup(tokens: Tokens, index: number): ModelPrompt;
  /** Encodes the prompts of `turns` again: `null`, or what is wrong with the first that is not of its length. */
  verify(turns: readonly (ComposableTurn & PromptKey)[]): Promise<string | null>;
}

/** Finds the lexicon (a second or less) and makes the composer. */
export async function createPromptComposer(options: PromptComposerOptions): Promise<PromptComposer> {
  const { tokenizer, promptSeed, salt, asIds = false, shareCopies = false } = options;
  const rng = createRng(promptSeed === null ? `prompt-salt:${salt}` : `prompt-seed:${promptSeed}`);
  const half = rng.fork("key");
  const seed: HashKey = { a: half.integer(0, 0xffffffff), b: half.integer(0, 0xffffffff) };
  const lexicon = options.lexicon ?? (await buildLexicon(tokenizer));
  const writer =
    lexicon === null
      ? await createSearchWriter(tokenizer, seed)
      : new LexiconWriter(new Filler(lexicon, rng.fork("filler")), seed, asIds);
  const composeTurn = (turn: ComposableTurn, key: PromptKey): ModelPrompt => {
    const copy = shareCopies ? 0 : turn.copy;
    const { prompt } = turn;
    const common = turn.common ?? 0;
    if (prompt.kind === "length") return writer.length(prompt, { copy, common }, key);
    return copy === 0 ? prompt : tagCopy(prompt, writer.tag(copy), writer.tagIds(copy), common);
  };
  return {
    tokenizer,
    lexicon,
    compose: composeTurn,
    warmup: (tokens, index) => writer.warmup(tokens, index),
    verify: async (turns) => {
      for (const turn of turns) {
        if (turn.prompt.kind !== "length") continue;
        const prompt = composeTurn(turn, turn);
        const got =
          prompt.kind === "ids"
            ? prompt.ids.length
            : prompt.kind === "text"
              ? await tokenizer.count(prompt.text)
              : turn.prompt.tokens;
        if (got !== turn.prompt.tokens)
          return `${turn.request_id}: ${turn.prompt.tokens} tokens were asked for, ${tokenizer.name} counts ${got}`;
      }
      return null;
    },
  };
}

interface CopyOf {
  readonly copy: number;
  /** Leading blocks that are the original's. */
  readonly common: number;
}

interface PromptWriter {
  length(prompt: LengthPrompt, of: CopyOf, key: PromptKey): ModelPrompt;
  warmup(tokens: Tokens, index: number): ModelPrompt;
  tag(copy: number): string;
  tagIds(copy: number): readonly number[];
}

const TAG_TOKENS = 4;

class LexiconWriter implements PromptWriter {
  readonly #filler: Filler;
  readonly #seed: HashKey;
  readonly #asIds: boolean;
  readonly #blocks: BlockStreams;

  constructor(filler: Filler, seed: HashKey, asIds: boolean) {
    this.#filler = filler;
    this.#seed = seed;
    this.#asIds = asIds;
    this.#blocks = new BlockStreams(filler, seed);
  }

  length(prompt: LengthPrompt, { copy, common }: CopyOf, key: PromptKey): ModelPrompt {
    const total = checkLength(prompt, key);
    const parts = blockParts(prompt, copy, common);
    if (this.#asIds) {
      const ids: number[] = [];
      let covered = 0;
      for (const part of parts) covered += this.#blocks.ids(part.prompt, part.copy, total - covered, ids);
      if (covered < total) this.#filler.ids(this.#own(key, copy), total - covered, ids);
      return { kind: "ids", ids };
    }
    let text = "";
    let covered = 0;
    for (const part of parts) {
      const blocks = this.#blocks.text(part.prompt, part.copy, total - covered);
      text += blocks.text;
      covered += blocks.tokens;
    }
    if (covered < total) text += this.#filler.text(this.#own(key, copy), total - covered);
    return { kind: "text", text: text.slice(this.#filler.separator.length) };
  }

  warmup(tokens: Tokens, index: number): ModelPrompt {
    const name: StreamName = {
      purpose: "warmup",
      first: index,
      key: deriveKeyFromText(this.#seed, `warmup\n${index}`),
    };
    return this.#prompt(name, tokens);
  }

  tag(copy: number): string {
    return this.#filler.text(this.#tag(copy), TAG_TOKENS).slice(this.#filler.separator.length);
  }

  tagIds(copy: number): readonly number[] {
    const ids: number[] = [];
    this.#filler.ids(this.#tag(copy), TAG_TOKENS, ids);
    return ids;
  }

  #prompt(name: StreamName, tokens: number): ModelPrompt {
    if (!this.#asIds)
      return { kind: "text", text: this.#filler.text(name, tokens).slice(this.#filler.separator.length) };
    const ids: number[] = [];
    this.#filler.ids(name, tokens, ids);
    return { kind: "ids", ids };
  }

  #tag(copy: number): StreamName {
    return { purpose: "own", first: copy, key: deriveKeyFromText(this.#seed, `copy\n${copy}`) };
  }

  #own(key: PromptKey, copy: number): StreamName {
    const own = deriveKeyFromText(this.#seed, `own\n${copy}\n${key.job_id}\n${key.request_id}`);
    return { purpose: "own", first: own.a, key: own };
  }
}

async function createSearchWriter(tokenizer: Tokenizer, seed: HashKey): Promise<PromptWriter> {
  if (!isSyncTokenizer(tokenizer)) {
    throw new UserError(`the words of ${tokenizer.name} do not add up to exact prompt lengths`, {
      hint: "name the model's tokenizer.json with --tokenizer",
    });
  }
  const sync: SyncTokenizer = tokenizer;
  const words = sync.vocabulary?.words ?? (await loadBuiltinTokenizer()).vocabulary?.words ?? [];
  const key = (name: string): HashKey => deriveKeyFromText(seed, name);
  const mark = (name: string): string => words[pickAt(key(name), 1, words.length)] as string;
  return {
    length: (prompt, { copy, common }, promptKey) => {
      const total = checkLength(prompt, promptKey);
      let text = "";
      let covered = 0;
      for (const [at, id] of (prompt.hash_ids ?? []).entries()) {
        const end = Math.min(total, covered + (prompt.block_tokens ?? total));
        if (end === covered) break;
        text = searchText(sync, words, text, key(blockName(prompt, at < common ? 0 : copy, id)), end);
        covered = end;
      }
      const own = key(`own\n${copy}\n${promptKey.job_id}\n${promptKey.request_id}`);
      if (covered < total) text = searchText(sync, words, text, own, total);
      return { kind: "text", text };
    },
    warmup: (tokens, index) => ({
      kind: "text",
      text: searchText(sync, words, "", key(`warmup\n${index}`), tokens),
    }),
    tag: (copy) => `${mark(`copy a\n${copy}`)} ${mark(`copy b\n${copy}`)} ${copy}`,
    tagIds: (copy) => sync.encode(`${mark(`copy a\n${copy}`)} ${mark(`copy b\n${copy}`)}`),
  };
}

/** The blocks of the original, then those of the copy. */
function blockParts(
  prompt: LengthPrompt,
  copy: number,
  common: number,
): { readonly prompt: LengthPrompt; readonly copy: number }[] {
  const ids = prompt.hash_ids;
  if (copy === 0 || common === 0 || ids === null) return [{ prompt, copy }];
  return [
    { prompt: { ...prompt, hash_ids: ids.slice(0, common) }, copy: 0 },
    { prompt: { ...prompt, hash_ids: ids.slice(common) }, copy },
  ];
}

function blockName(prompt: LengthPrompt, copy: number, id: BlockId): string {
  return `block\n${copy}\n${prompt.hash_scope ?? ""}\n${id}`;
}

function checkLength(prompt: LengthPrompt, key: PromptKey): number {
  if (!Number.isSafeInteger(prompt.tokens) || prompt.tokens < 0)
    throw new UserError(`${key.request_id}: a prompt cannot have ${prompt.tokens} tokens`);
  return prompt.tokens;
}
