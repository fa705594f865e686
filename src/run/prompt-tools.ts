/** The tokenizer and the prompt composer of a run, made only where the plan needs made-up text. */
import { randomBytes } from "node:crypto";
import type { Plan } from "../plan/plan.ts";
import { createPromptComposer, type PromptComposer } from "../prompt/composer.ts";
import type { PromptCodec } from "../prompt/adapt-prompt.ts";
import { resolveTokenizer } from "../prompt/resolve-tokenizer.ts";
import type { Lexicon } from "../prompt/lexicon.ts";
import { isSyncTokenizer, type Tokenizer, type TokenizerSource } from "../prompt/tokenizer.ts";
import type { Manifest } from "../record/manifest.ts";
import type { Target } from "./target.ts";

export interface PromptTools {
  readonly composer: PromptComposer | null;
  readonly tokenizer: Tokenizer | null;
  readonly codec: PromptCodec;
  /** For the manifest. */
  readonly facts: Manifest["tokenizer"];
  /** How another lane makes the same prompts; `null` where it needs no tools, or they live in this thread alone. */
  readonly spec: PromptToolsSpec | null;
}

/** Plain data. The lexicon is found once and shared. */
export interface PromptToolsSpec {
  readonly tokenizerPath: string | null;
  readonly model: string;
  readonly tokenizer: { readonly source: TokenizerSource; readonly name: string };
  readonly promptSeed: number | null;
  readonly salt: string;
  readonly asIds: boolean;
  readonly shareCopies: boolean;
  readonly lexicon: Lexicon | null;
}

export interface PromptToolsOptions {
  readonly tokenizerPath: string | null;
  readonly promptSeed: number | null;
  readonly asIds: boolean;
  readonly shareCopies: boolean;
  /** Also without made-up text: warm-ups, prompts in a form that the protocol does not take. */
  readonly always: boolean;
}

export async function openPromptTools(
  plan: Plan,
  target: Target,
  options: PromptToolsOptions,
): Promise<PromptTools> {
  if (!options.always && !needsComposer(plan, target)) {
    // A named tokenizer is still of use: output tokens are counted with it where the server tells none.
    if (options.tokenizerPath === null) return { ...NO_TOOLS, tokenizer: target.tokenizer };
  }
  const { tokenizer, warning } =
    target.tokenizer === null
      ? await resolveTokenizer({
          tokenizerPath: options.tokenizerPath,
          model: target.model,
          post: target.post,
        })
      : { tokenizer: target.tokenizer, warning: null };
  const settings = {
    promptSeed: options.promptSeed,
    salt: randomBytes(16).toString("hex"),
    asIds: options.asIds && target.prompts.includes("ids"),
    shareCopies: options.shareCopies,
  };
  const composer = await createPromptComposer({ tokenizer, ...settings });
  return {
    ...toolsOf(composer, warning),
    spec: {
      ...settings,
      tokenizerPath: options.tokenizerPath,
      model: target.model,
      tokenizer: { source: tokenizer.source, name: tokenizer.name },
      lexicon: composer.lexicon,
    },
  };
}

/** The same tools on another thread: equal prompts for equal requests. Asks no server. */
export async function promptToolsOfSpec(spec: PromptToolsSpec | null): Promise<PromptTools> {
  if (spec === null) return NO_TOOLS;
  const { tokenizerPath, model, promptSeed, salt, asIds, shareCopies, lexicon } = spec;
  const tokenizer =
    spec.tokenizer.source === "server"
      ? absentTokenizer(spec.tokenizer.name)
      : (await resolveTokenizer({ tokenizerPath, model, post: null })).tokenizer;
  const composer = await createPromptComposer({
    tokenizer,
    promptSeed,
    salt,
    asIds,
    shareCopies,
    lexicon,
  });
  return { ...toolsOf(composer, null), spec };
}

const NO_TOOLS: PromptTools = { composer: null, tokenizer: null, codec: {}, facts: null, spec: null };

function toolsOf(composer: PromptComposer, warning: string | null): Omit<PromptTools, "spec"> {
  const { tokenizer } = composer;
  const sync = isSyncTokenizer(tokenizer) ? tokenizer : null;
  return {
    composer,
    tokenizer,
    codec: {
      encode: sync === null ? null : (text) => sync.encode(text),
      decode: sync?.decode === undefined ? null : (ids) => sync.decode?.(ids) ?? "",
    },
    facts: { source: tokenizer.source, name: tokenizer.name, warning },
  };
}

/** The server's own tokenizer, where all that it had to tell is in the lexicon already. */
function absentTokenizer(name: string): Tokenizer {
  const absent = (): Promise<never> => Promise.reject(new Error(`${name} is not asked from a lane`));
  return { name, source: "server", encode: absent, count: absent };
}

function needsComposer(plan: Plan, target: Target): boolean {
  return plan.requests.some(
    ({ request }) =>
      request.copy > 0 ||
      request.prompt.kind === "length" ||
      (request.prompt.kind === "ids" && !target.prompts.includes("ids")),
  );
}
